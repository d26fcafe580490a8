import type { SnapshotStore, SnapshotWrite, StoredSnapshot, WriteVerdict } from './ports.ts'

/** Snapshots that live as long as the process: for tests, simulations and proofs. */
export class MemorySnapshots implements SnapshotStore {
  readonly #stored = new Map<string, StoredSnapshot>()

  get size(): number {
    return this.#stored.size
  }

  load(ids: readonly string[]): (StoredSnapshot | undefined)[] {
    return ids.map((id) => this.#stored.get(id))
  }

  write(writes: readonly SnapshotWrite[]): WriteVerdict[] {
    return writes.map((write) => this.#apply(write))
  }

  #apply(write: SnapshotWrite): WriteVerdict {
    const stored = this.#stored.get(write.id)
    if (write.kind === 'remove') {
      if (stored && stored.fence > write.fence) return 'stale'
      this.#stored.delete(write.id)
      return 'written'
    }
    if (stored && !supersedes(write, stored)) return 'stale'
    const { kind: _, ...snapshot } = write
    this.#stored.set(write.id, snapshot)
    return 'written'
  }
}

function supersedes(write: StoredSnapshot, stored: StoredSnapshot): boolean {
  return write.fence > stored.fence || (write.fence === stored.fence && write.seq > stored.seq)
}
