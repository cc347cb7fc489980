/**
 * Bytes of a journal that are not what was written.
 * - `torn`: the last line has no end, as a crash in the middle of a write leaves it. Such a line was never acknowledged.
 * - `checksum`: a line was changed after it was written.
 * - `unreadable`: the line is as it was written, but this version cannot read what it says.
 * - `shrunk`: another program cut the file while it was open. `offset` is the new end, `bytes` is what is gone.
 */
export interface Damage {
  readonly kind: 'torn' | 'checksum' | 'unreadable' | 'shrunk'
  readonly path: string
  readonly offset: number
  readonly bytes: number
  readonly error?: unknown
}

/** A file with damage, and how many damaged parts of it are known. */
export interface DamagedFile {
  readonly path: string
  readonly damaged: number
}

const MAX_REMEMBERED = 10_000

/** Reports each damage once, however often its bytes are read. */
export class DamageReport {
  readonly #seen = new Set<string>()
  readonly #byFile = new Map<string, number>()
  readonly #tell: (damage: Damage) => void

  constructor(tell: (damage: Damage) => void) {
    this.#tell = tell
  }

  get count(): number {
    return this.#seen.size
  }

  /** In the order in which the damage was found. */
  get files(): readonly DamagedFile[] {
    return Array.from(this.#byFile, ([path, damaged]) => ({ path, damaged }))
  }

  add(damage: Damage): void {
    const { kind, path, offset } = damage
    const key = `${path}:${offset}${kind === 'shrunk' ? ':shrunk' : ''}`
    if (this.#seen.has(key) || this.#seen.size >= MAX_REMEMBERED) return
    this.#seen.add(key)
    this.#byFile.set(path, (this.#byFile.get(path) ?? 0) + 1)
    try {
      this.#tell(damage)
    } catch {
      // A failing listener must not prevent reading the rest.
    }
  }
}

/**
 * The default of `onDamage`: a warning of the process, so that no damage is silent. The first damage of a file is enough,
 * because an edit or a broken disk can damage every line.
 */
export function warnOfDamage(): (damage: Damage) => void {
  const warned = new Set<string>()
  return damage => {
    if (warned.has(damage.path)) return
    warned.add(damage.path)
    const goesOn =
      damage.kind === 'shrunk'
        ? 'New lines go to a new file'
        : 'The line is kept, and the others are read; lazaret doctor counts damaged lines'
    process.emitWarning(`${describeDamage(damage)}. ${goesOn}`, {
      type: 'LazaretWarning',
      code: 'LAZARET_STORE_DAMAGED',
    })
  }
}

function describeDamage({ kind, path, offset, bytes }: Damage): string {
  switch (kind) {
    case 'torn':
      return `${path}: the last line, at byte ${offset}, is incomplete; if no crash explains it, restore the file from a backup`
    case 'checksum':
      return `${path}: the line at byte ${offset} differs from what was written; check the disk, and restore the file from a backup`
    case 'unreadable':
      return `${path}: the line at byte ${offset} is intact and cannot be read; use the key that sealed it, and the version that wrote it`
    case 'shrunk':
      return `${path}: another program cut the last ${bytes} bytes off while the file was open; restore the file from a backup`
  }
}
