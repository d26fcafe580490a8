/**
 * Rows for `json_to_recordset`: one parameter for any number of rows, and as quick as arrays or
 * VALUES. PostgreSQL holds neither NUL nor half a surrogate pair in a text; where a caller has one
 * (an error message quoting a server, say), U+FFFD stands in its place. JSON texts carry both as
 * escapes, and come back as they were.
 */
export function jsonRows(rows: readonly object[]): string {
  const text = JSON.stringify(rows)
  return text.includes('\\u') ? JSON.stringify(rows, storableText) : text
}

export function storable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\ufffd')
}

function storableText(_: string, value: unknown): unknown {
  return typeof value === 'string' ? storable(value) : value
}
