import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { html } from '../../src/http/html.ts'
import { builtInCharts as charts, plainDrawings, testApp } from './test-app.ts'
import { testService } from './test-service.ts'

describe('the page', () => {
  it('shows every machine with its drawing, all its states and all its transitions', async () => {
    const { body, headers } = await testApp().inject('/')
    expect(headers['content-type']).toBe('text/html; charset=utf-8')
    for (const { id, description, states, transitions } of charts) {
      const section = sectionOf(body, id)
      expect(section).toContain(description)
      expect(section).toContain(`<svg xmlns="http://www.w3.org/2000/svg" aria-label="${id}">`)
      expect(section.match(/<dt>/g)).toHaveLength(states.length - 1)
      expect(section.match(/<tr><td/g)).toHaveLength(transitions.length)
    }
  })

  it('lights the states that somebody is in, and says how many', async () => {
    const { body } = await testApp().inject('/')
    expect(body.match(/class="state \w+ active" data-state="(\w+)"/g)).toEqual([
      'class="state atomic active" data-state="serving"',
    ])
    expect(sectionOf(body, 'process')).toContain('<code>serving</code> <b class="here">1 here</b>')
  })

  it('comes at once while a drawing is still to be made, and has the browser fetch it', async () => {
    const undrawn = { ...plainDrawings, atHand: async () => undefined }
    const { body } = await testApp({ drawings: undrawn }).inject('/')
    for (const { id } of charts) {
      expect(sectionOf(body, id)).toContain(`<img src="/v1/machines/${id}/drawing.svg"`)
    }
  })

  it('lets the browser run nothing and use exactly its own styles', async () => {
    const { body, headers } = await testApp().inject('/')
    const [, style = ''] = /<style>(.*?)<\/style>/s.exec(body) ?? []
    const hash = createHash('sha256').update(style).digest('base64')
    expect(headers['content-security-policy']).toBe(
      `default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; img-src 'self'; style-src 'self' 'sha256-${hash}'`,
    )
    expect(body).not.toContain('<script')
    expect(body).not.toContain(' style=')
  })

  it('links to nothing that is not there', async () => {
    const url = await testService().serving
    const body = await (await fetch(url)).text()
    const links = [...body.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, link]) => link ?? '')
    expect(links.length).toBeGreaterThan(10)
    for (const link of new Set(links)) {
      if (link.startsWith('#')) expect(body).toContain(`id="${link.slice(1)}"`)
      else expect((await fetch(`${url}${link}`)).status, link).toBe(200)
    }
  })

  it('says so when the process is on its way out', async () => {
    const { body } = await testApp({ state: () => 'draining' }).inject('/')
    expect(body).toContain('<b class="state draining">draining</b>')
  })
})

describe('html', () => {
  it('escapes everything that is not markup already', () => {
    const name = `<b onclick="x()">&'`
    expect(html`<p title="${name}">${[name, html`<i>${1_234}</i>`]}</p>`.markup).toBe(
      `<p title="&lt;b onclick=&quot;x()&quot;&gt;&amp;'">&lt;b onclick=&quot;x()&quot;&gt;&amp;'<i>1,234</i></p>`,
    )
  })

  it('keeps backslashes and other escapes of the page as they are meant', () => {
    expect(html`a\n${'b\\n'}`.markup).toBe('a\nb\\n')
  })
})

function sectionOf(body: string, id: string): string {
  return body.split('<section ').find((section) => section.startsWith(`id="${id}"`)) ?? ''
}
