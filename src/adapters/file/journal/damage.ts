/**
 * Bytes of a journal that are not what was written.
 * - `torn`: the last line has no end, as a crash in the middle of a write leaves it. It was never acknowledged.
 * - `checksum`: a line was changed after it was written.
 * - `unreadable`: the line is as it was written, but this version cannot read what it says.
 */
export interface Damage {
  readonly kind: 'torn' | 'checksum' | 'unreadable'
  readonly path: string
  readonly offset: number
  readonly bytes: number
  readonly error?: unknown
}

const MAX_REMEMBERED = 10_000

/** Reports each damage once, however often its bytes are read. */
export class DamageReport {
  readonly #seen = new Set<string>()
  readonly #tell: (damage: Damage) => void

  constructor(tell: (damage: Damage) => void) {
    this.#tell = tell
  }

  get count(): number {
    return this.#seen.size
  }

  add(damage: Damage): void {
    const key = `${damage.path}:${damage.offset}`
    if (this.#seen.has(key) || this.#seen.size >= MAX_REMEMBERED) return
    this.#seen.add(key)
    try {
      this.#tell(damage)
    } catch {
      // A failing listener must not prevent reading the rest.
    }
  }
}
