import { join } from 'node:path'
import type { Files } from './files.ts'

/**
 * One file of a journal. The number alone decides the order across all days, because a clock can step back over midnight.
 * The folder only shows a person when the file was begun. A rewritten file keeps its number and gets the next revision.
 */
export interface SegmentName {
  readonly number: number
  readonly revision: number
  readonly day: string
}

const DAY = /^\d{4}-\d\d-\d\d$/
const NUMBER_DIGITS = 6
/** Two equal listings in a row are trusted. This many tries are always enough. */
const MAX_LISTINGS = 50

export function dayOf(now: number): string {
  return new Date(now).toISOString().slice(0, 10)
}

export class SegmentFolder {
  readonly dir: string
  readonly #files: Files
  readonly #prefix: string
  readonly #pattern: RegExp

  constructor(files: Files, dir: string, prefix: string) {
    this.dir = dir
    this.#files = files
    this.#prefix = prefix
    this.#pattern = new RegExp(
      `^${prefix}-(\\d{${NUMBER_DIGITS},})(?:\\.(\\d+))?\\.(jsonl|index|damaged|jsonl\\.tmp|index\\.tmp)$`,
    )
  }

  path(name: SegmentName, ending: Ending = 'jsonl'): string {
    const number = String(name.number).padStart(NUMBER_DIGITS, '0')
    const revision = name.revision === 0 ? '' : `.${name.revision}`
    return join(this.dayFolder(name), `${this.#prefix}-${number}${revision}.${ending}`)
  }

  dayFolder({ day }: Pick<SegmentName, 'day'>): string {
    return join(this.dir, day)
  }

  /**
   * Lists every segment in its newest revision, in order. A listing can miss a file that another process is just
   * replacing by its next revision, so it is repeated until nothing changes.
   */
  async list(): Promise<SegmentName[]> {
    let before: string | undefined
    for (let listing = 0; listing < MAX_LISTINGS; listing++) {
      const found = newest((await this.#all()).filter(({ ending }) => ending === 'jsonl'))
      const now = found.map(name => this.path(name)).join('\n')
      if (now === before || found.length === 0) return found
      before = now
    }
    throw new Error(
      `the files in ${this.dir} change while they are listed; check which processes write there`,
    )
  }

  /** The files of an interrupted rewrite. */
  async leftovers(): Promise<string[]> {
    const all = await this.#all()
    const current = new Set(newest(all.filter(({ ending }) => ending === 'jsonl')).map(keyOf))
    return all
      .filter(({ ending }) => ending !== 'damaged')
      .filter(found => found.ending.endsWith('tmp') || !current.has(keyOf(found)))
      .map(found => this.path(found, found.ending))
  }

  /** The files with torn lines that a rewrite has moved. Nothing reads or removes them. */
  async setAside(): Promise<string[]> {
    const all = await this.#all()
    return all.filter(({ ending }) => ending === 'damaged').map(found => this.path(found, found.ending))
  }

  async #all(): Promise<FoundFile[]> {
    const days = (await this.#files.list(this.dir)).filter(name => DAY.test(name))
    const lists = await Promise.all(
      days.map(async day => {
        const names = await this.#files.list(join(this.dir, day))
        return names.flatMap(name => this.#parse(name, day) ?? [])
      }),
    )
    return lists.flat()
  }

  #parse(name: string, day: string): FoundFile | undefined {
    const [, number, revision, ending] = this.#pattern.exec(name) ?? []
    if (number === undefined) return undefined
    return { number: Number(number), revision: Number(revision ?? 0), day, ending: ending as Ending }
  }
}

/** A file that ends with `tmp` is not complete. One that ends with `damaged` holds a torn line that a rewrite has moved. */
type Ending = 'jsonl' | 'index' | 'damaged' | 'jsonl.tmp' | 'index.tmp'

interface FoundFile extends SegmentName {
  readonly ending: Ending
}

function keyOf({ number, revision }: SegmentName): string {
  return `${number}.${revision}`
}

function newest(found: readonly SegmentName[]): SegmentName[] {
  const byNumber = new Map<number, SegmentName>()
  for (const { number, revision, day } of found) {
    const other = byNumber.get(number)
    if (other === undefined || other.revision < revision) byNumber.set(number, { number, revision, day })
  }
  return [...byNumber.values()].sort((a, b) => a.number - b.number)
}
