/** What jobs hand over to be kept (results, checkpoints, what a state brought) is JSON, and small. */
export const valueBytesMax = 256 * 1024

/** As the store keeps it. */
export function valueText(value: unknown): string {
  return value === undefined ? 'null' : JSON.stringify(value)
}

/** Why this cannot be kept, in words. */
export function valueProblem(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined
  let text: string | undefined
  try {
    text = JSON.stringify(value)
  } catch (error) {
    return `it is not JSON (${error instanceof Error ? error.message : error}).`
  }
  if (text === undefined) return `it is not JSON (${typeof value}).`
  // A character is at most three bytes, so most need not be counted.
  return text.length * 3 > valueBytesMax && Buffer.byteLength(text) > valueBytesMax
    ? `it has ${Buffer.byteLength(text)} bytes of at most ${valueBytesMax}; store the data elsewhere and keep a reference.`
    : undefined
}
