/**
 * What an XML parser would refuse, or null. Covers what our drawings use: elements, quoted
 * attributes and text; no comments, no CDATA, no processing instructions.
 */
export function xmlProblem(xml: string): string | null {
  const open: string[] = []
  let rest = xml.trim()
  while (rest !== '') {
    const text = /^[^<]+/.exec(rest)?.[0]
    const tag = /^<(\/?)([A-Za-z][\w-]*)((?:\s+[A-Za-z_][\w:-]*="[^"<]*")*)\s*(\/?)>/.exec(rest)
    if (text !== undefined) {
      if (open.length === 0) return `text outside the root: ${text.slice(0, 40)}`
      if (hasLooseAmpersand(text)) return `bare & in: ${text.slice(0, 40)}`
      rest = rest.slice(text.length)
    } else if (tag) {
      const [whole, closing, name = '', attributes = '', empty] = tag
      if (hasLooseAmpersand(attributes)) return `bare & in the attributes of ${name}`
      const keys = [...attributes.matchAll(/([\w:-]+)="/g)].map((match) => match[1])
      if (new Set(keys).size < keys.length) return `an attribute twice in ${name}`
      if (closing && open.pop() !== name) return `</${name}> closes nothing`
      if (!closing && !empty) open.push(name)
      rest = rest.slice(whole.length)
      if (open.length === 0 && rest !== '') return `something after the root: ${rest.slice(0, 40)}`
    } else {
      return `not a tag: ${rest.slice(0, 40)}`
    }
  }
  return open.length === 0 ? null : `<${open.join('> <')}> never closed`
}

function hasLooseAmpersand(text: string): boolean {
  return /&(?!(amp|lt|gt|quot|#\d+);)/.test(text)
}
