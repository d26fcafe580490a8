/**
 * Compares our readings of Retry-After values and of hosts with collections of other people's test
 * cases: `npm run bench -- corpora <folder>`, where the folder holds `retry-after/cases.json` and
 * the URL files of web-platform-tests under `wpt-url/tests/wpt`.
 */

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { domainOf, normalizeHost } from '../src/machines/domain.ts'
import { retryAfterMs } from '../src/machines/retry-after.ts'

interface Comparison {
  readonly input: string
  readonly theirs: string
  readonly ours: string
  /** Why we mean to differ, where we do. */
  readonly because?: string
}

interface Corpus {
  readonly file: string
  readonly compare: (contents: string) => readonly Comparison[]
}

const refused = 'refused'
const examplesMax = 5

const corpora: readonly Corpus[] = [
  { file: 'retry-after/cases.json', compare: compareRetryAfter },
  { file: 'wpt-url/tests/wpt/urltestdata.json', compare: compareUrls },
  { file: 'wpt-url/tests/wpt/urltestdata-javascript-only.json', compare: compareUrls },
  { file: 'wpt-url/tests/wpt/toascii.json', compare: compareHosts },
  { file: 'wpt-url/tests/wpt/IdnaTestV2.json', compare: compareHosts },
]

export function run([folder]: readonly string[]): void {
  const missing = corpora.filter(({ file }) => !existsSync(join(folder ?? '', file)))
  if (folder === undefined || missing.length === corpora.length) {
    console.error(
      folder === undefined
        ? 'Say where the collections are: npm run bench -- corpora <folder>'
        : `No collection of test cases in ${folder}; expected ${corpora[0]?.file} and others.`,
    )
    process.exitCode = 1
    return
  }
  for (const { file } of missing) console.log(`${file}: not there, left out`)
  for (const { file, compare } of corpora.filter((corpus) => !missing.includes(corpus))) {
    report(file, compare(readFileSync(join(folder, file), 'utf8')))
  }
}

function report(file: string, comparisons: readonly Comparison[]): void {
  const differing = comparisons.filter(({ theirs, ours }) => theirs !== ours)
  const unexplained = differing.filter(({ because }) => because === undefined)
  const byReason = Object.entries(
    Object.groupBy(differing, ({ because = 'no known reason' }) => because),
  )
  console.log(
    `${file}: ${comparisons.length} readings, ${comparisons.length - differing.length} agree, ` +
      `${differing.length - unexplained.length} differ by our own rules, ` +
      `${unexplained.length} differ without a reason`,
  )
  for (const [reason, group = []] of byReason) {
    console.log(`  ${group.length} times: ${reason}`)
    const shown = group[0]?.because === undefined ? group : group.slice(0, examplesMax)
    for (const { input, theirs, ours } of shown) {
      console.log(`    ${JSON.stringify(input)}: theirs ${theirs}, ours ${ours}`)
    }
  }
  if (unexplained.length > 0) process.exitCode = 1
}

function compareRetryAfter(contents: string): Comparison[] {
  const corpus: { now: string; cases: { v: string; sec: number | null }[] } = JSON.parse(contents)
  const at = new Date(corpus.now).getTime()
  return corpus.cases.map(({ v, sec }) => {
    const ms = retryAfterMs(v, { at })
    return {
      input: v,
      theirs: sec === null ? refused : `${sec * 1_000} ms`,
      ours: ms === undefined ? refused : `${ms} ms`,
    }
  })
}

interface UrlCase {
  readonly input: string
  readonly base: string | null
  readonly failure?: boolean
  readonly protocol?: string
  readonly host?: string
}

function compareUrls(contents: string): Comparison[] {
  const entries: (string | UrlCase)[] = JSON.parse(contents)
  return entries
    .filter((entry) => typeof entry !== 'string')
    .map(({ input, base, failure, protocol = '', host = '' }) => {
      const domain = base === null ? domainOf(input) : domainOf(URL.parse(input, base) ?? '')
      const ours = domain ?? refused
      // What their tests accept under another scheme is no host for us.
      const isHttp = protocol === 'http:' || protocol === 'https:'
      if (failure || !isHttp) return { input, theirs: refused, ours }
      return { input, theirs: host, ours, ...ruled(host, ours) }
    })
}

interface HostCase {
  readonly input: string
  readonly output: string | null
}

/**
 * Each host twice: escaped inside a URL, as these tests are meant, and written alone. The empty one
 * is left out: no URL can be written with it.
 */
function compareHosts(contents: string): Comparison[] {
  const entries: (string | HostCase)[] = JSON.parse(contents)
  return entries
    .filter((entry) => typeof entry !== 'string')
    .filter(({ input }) => input !== '')
    .flatMap(({ input, output }) => {
      const theirs = output ?? refused
      const readings = [
        domainOf(`https://${encodeURIComponent(input.toWellFormed())}/x`),
        normalizeHost(input),
      ]
      return readings.map((domain) => {
        const ours = domain ?? refused
        return { input, theirs, ours, ...ruled(theirs, ours) }
      })
    })
}

/** The reason for a difference, if our rules about ports and dots explain exactly this one. */
function ruled(theirs: string, ours: string): { because?: string } {
  const portless = theirs.replace(/:(?:80|443)$/, '')
  if (/(?:^|\.)\.$/.test(portless) && ours === refused) {
    return { because: 'no name, or an empty label, before the last dot' }
  }
  if (ours !== portless.replace(/\.$/, '')) return {}
  return {
    because: portless === theirs ? 'a trailing dot is dropped' : 'ports 80 and 443 are dropped',
  }
}
