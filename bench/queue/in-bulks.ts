/** Hands `items` to `send` in bulks, with some of them under way at a time. */
export async function inBulks<Item>(
  items: readonly Item[],
  { bulkSize, bulksAtOnce }: { readonly bulkSize: number; readonly bulksAtOnce: number },
  send: (bulk: Item[]) => Promise<unknown>,
): Promise<void> {
  let next = 0
  const sender = async () => {
    while (next < items.length) {
      const from = next
      next += bulkSize
      await send(items.slice(from, next))
    }
  }
  await Promise.all(Array.from({ length: bulksAtOnce }, sender))
}
