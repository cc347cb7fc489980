import { basename, dirname, extname, join } from 'node:path'
import type { Files } from './files.ts'

const DAY_MS = 86_400_000
const NUMBER_DIGITS = 6

/** The UTC day of a time, as 2026-11-15. */
export function dayOf(ms: number): string {
  return new Date(Math.floor(ms / DAY_MS) * DAY_MS).toISOString().slice(0, 10)
}

/**
 * Names of files that were rotated: `events.jsonl` becomes `events-2026-11-15-000001.jsonl`, by the day it was written
 * and a number within it. Sorted by name they are sorted by age, while the clock is right.
 */
export class RotatedFiles {
  readonly folder: string
  readonly #path: string
  readonly #stem: string
  readonly #ending: string

  constructor(path: string) {
    this.#path = path
    this.folder = dirname(path)
    this.#ending = extname(path)
    this.#stem = basename(path, this.#ending)
  }

  /** Moves the file out of the way, then removes the oldest beyond those to be kept. */
  async rotate(files: Files, day: string, keep: number): Promise<void> {
    const names = await this.#list(files)
    const last = names.findLast(name => this.#dayIn(name) === day)
    const number = last === undefined ? 1 : this.#numberIn(last) + 1
    const name = `${this.#stem}-${day}-${String(number).padStart(NUMBER_DIGITS, '0')}${this.#ending}`
    await files.rename(this.#path, join(this.folder, name))
    // No file is newer than this one. A later name is of a time when the clock was ahead, or is now behind, so such a file is older
    // than its name says. Its time of modification would say the same as its name.
    const later = names.filter(each => each > name)
    const earlier = names.filter(each => each < name)
    const oldestFirst = [...later, ...earlier, name]
    for (const old of oldestFirst.slice(0, Math.max(0, oldestFirst.length - keep))) {
      // A file that cannot be removed is tried again at the next rotation. The write of the event must not fail for it.
      await files.remove(join(this.folder, old)).catch(() => {})
    }
  }

  async #list(files: Files): Promise<string[]> {
    const names = await files.list(this.folder)
    return names.filter(name => this.#dayIn(name) !== undefined).sort()
  }

  #middle(name: string): string {
    const isOurs = name.startsWith(`${this.#stem}-`) && name.endsWith(this.#ending)
    return isOurs ? name.slice(this.#stem.length + 1, name.length - this.#ending.length) : ''
  }

  #dayIn(name: string): string | undefined {
    return /^(\d{4}-\d\d-\d\d)-\d{6,}$/.exec(this.#middle(name))?.[1]
  }

  #numberIn(name: string): number {
    return Number(this.#middle(name).slice('2026-11-15-'.length))
  }
}
