type Attributes = Readonly<Record<string, string | number>>

export function element(name: string, attributes: Attributes, ...children: string[]): string {
  const words = Object.entries(attributes).map(
    ([key, value]) => `${key}="${escapeXml(`${value}`)}"`,
  )
  const open = [name, ...words].join(' ')
  return children.length === 0 ? `<${open}/>` : `<${open}>${children.join('')}</${name}>`
}

export function textElement(name: string, attributes: Attributes, text: string): string {
  return element(name, attributes, escapeXml(text))
}

export function escapeXml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}

/**
 * A valid XML id from any words. The machine's id is one of them, so that several drawings can
 * share a page; what an id must not hold is written as its code, so that no two become equal.
 */
export function xmlId(...words: string[]): string {
  return words
    .map((word) =>
      [...word].map((each) => (/[\w.:]/.test(each) ? each : `-${codeOf(each)}-`)).join(''),
    )
    .join('-')
}

function codeOf(character: string): string {
  return (character.codePointAt(0) ?? 0).toString(16)
}
