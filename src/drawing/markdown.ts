export const generatedNote = '<!-- Written by `npm run docs` from the machines themselves. -->'

export function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, head.map(() => '---'), ...rows]
  return lines.map((cells) => `| ${cells.map(inCell).join(' | ')} |`).join('\n')
}

/** Text as it is: nothing in it becomes markup. */
export function escapeMarkdown(text: string): string {
  return text.replace(/[\\`*_[\]<>&]/g, (character) => entities.get(character) ?? `\\${character}`)
}

export function code(text: string): string {
  return text === '' ? '' : `\`${text.replaceAll('`', "'")}\``
}

/** A cell ends at a pipe or a line's end, even inside code. */
function inCell(text: string): string {
  return text.replaceAll('|', '\\|').replace(/\s*\n\s*/g, ' ')
}

const entities = new Map([
  ['<', '&lt;'],
  ['>', '&gt;'],
  ['&', '&amp;'],
])
