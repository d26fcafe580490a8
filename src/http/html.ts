import { escapeXml } from '../drawing/xml.ts'

/** Text that is HTML already; everything else is escaped on its way into a page. */
export interface Markup {
  readonly markup: string
}

export type Content = string | number | Markup | readonly Content[]

export function html(parts: TemplateStringsArray, ...values: readonly Content[]): Markup {
  return { markup: String.raw({ raw: parts }, ...values.map(markupOf)) }
}

/** For markup that Decorum has made itself, such as drawings. */
export function trusted(markup: string): Markup {
  return { markup }
}

export const nothing: Markup = { markup: '' }

function markupOf(content: Content): string {
  if (typeof content === 'string') return escapeXml(content)
  if (typeof content === 'number') return content.toLocaleString('en')
  return 'markup' in content ? content.markup : content.map(markupOf).join('')
}
