/** The only file that reads the environment. */
export type Variables = Readonly<Record<string, string | undefined>>

export function environment(): Variables {
  return { ...process.env }
}
