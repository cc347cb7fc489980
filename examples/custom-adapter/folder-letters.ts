import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import {
  type DeadLetter,
  type DeadLetterStore,
  DeadLettersClosedError,
  decodeLetter,
  encodeLetter,
  type LetterChange,
  type LetterFilter,
  type LetterPage,
  type LetterQuery,
  type LetterStats,
  type LetterVersion,
  mergeLetter,
  type SeenLetter,
  type TimelineSpan,
} from 'lazaret'
import {
  changeLetter,
  compareLetters,
  letterCursor,
  letterPosition,
  letterStats,
  matchesFilter,
  pageOf,
  resolveLetterFilter,
  resolveLetterQuery,
  resolveOptions,
  resolveTimeline,
  SerialQueue,
  Timeline,
  text,
} from 'lazaret/adapter-kit'

const rules = { dir: text() }

/** A dead-letter store that keeps one file per letter in a folder. One process uses the folder at a time. */
export class FolderLetters implements DeadLetterStore {
  readonly #dir: string
  /** Changes run one after the other, because each one reads a letter and then writes it. */
  readonly #changes = new SerialQueue()
  #isClosed = false

  constructor(options: { readonly dir: string }) {
    this.#dir = resolveOptions('FolderLetters', rules, options).dir
  }

  send(letter: DeadLetter): Promise<void> {
    return this.#inTurn(async () => this.#write(mergeLetter(await this.#read(letter.id), letter)))
  }

  change(id: string, change: LetterChange): Promise<DeadLetter | undefined> {
    return this.#inTurn(async () => {
      const letter = await this.#read(id)
      const changed = letter && changeLetter(letter, change)
      if (changed !== undefined) await this.#write(changed)
      return changed
    })
  }

  delete(id: string, seen?: LetterVersion): Promise<boolean> {
    return this.#inTurn(async () => {
      const letter = await this.#read(id)
      if (letter === undefined) return false
      const hasChanged =
        seen !== undefined && (letter.state !== seen.state || letter.cycle.lastFailedAt !== seen.lastFailedAt)
      if (hasChanged) return false
      await rm(this.#path(id))
      return true
    })
  }

  async deleteMany(seen: readonly SeenLetter[]): Promise<readonly string[]> {
    const deleted: string[] = []
    for (const letter of seen) if (await this.delete(letter.id, letter)) deleted.push(letter.id)
    return deleted
  }

  async *versions(filter?: LetterFilter): AsyncGenerator<readonly SeenLetter[]> {
    const letters = await this.#matching(resolveLetterFilter(filter))
    yield letters.map(({ id, state, cycle }) => ({ id, state, lastFailedAt: cycle.lastFailedAt }))
  }

  async get(id: string): Promise<DeadLetter | undefined> {
    this.#requireOpen()
    return this.#read(id)
  }

  async list(query?: LetterQuery): Promise<LetterPage> {
    const { filter, limit, order, startAfter } = resolveLetterQuery(query)
    const matching = (await this.#matching(filter))
      .map(letter => ({ letter, place: letterPosition(letter, order) }))
      .filter(({ place }) => startAfter === undefined || compareLetters(place, startAfter, order) > 0)
      .sort((a, b) => compareLetters(a.place, b.place, order))
    const { shown, cursor } = pageOf(matching, limit, last => letterCursor(last.place, filter, order))
    return { letters: shown.map(({ letter }) => letter), cursor }
  }

  async stats(filter?: LetterFilter): Promise<LetterStats> {
    return letterStats(await this.#matching(resolveLetterFilter(filter)))
  }

  async timeline(filter: LetterFilter, span: TimelineSpan): Promise<readonly number[]> {
    const resolved = resolveTimeline(filter, span)
    const timeline = new Timeline(resolved.span)
    for (const { cycle } of await this.#matching(resolved.filter)) timeline.add(cycle.lastFailedAt)
    return timeline.counts
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#changes.settled()
  }

  async #matching(filter: LetterFilter): Promise<DeadLetter[]> {
    this.#requireOpen()
    await mkdir(this.#dir, { recursive: true, mode: 0o700 })
    const names = (await readdir(this.#dir)).filter(name => name.endsWith('.json'))
    const letters = await Promise.all(names.map(name => this.#read(idOf(name))))
    return letters.filter(letter => letter !== undefined).filter(letter => matchesFilter(letter, filter))
  }

  async #read(id: string): Promise<DeadLetter | undefined> {
    try {
      return decodeLetter(await readFile(this.#path(id), 'utf8'))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
      throw error
    }
  }

  /** The letter is on the disk, whole, before its file has its name. */
  async #write(letter: DeadLetter): Promise<void> {
    const content = encodeLetter(letter)
    await mkdir(this.#dir, { recursive: true, mode: 0o700 })
    const path = this.#path(letter.id)
    const file = await open(`${path}.new`, 'w', 0o600)
    try {
      await file.writeFile(content)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(`${path}.new`, path)
    const folder = await open(this.#dir)
    await folder.sync()
    await folder.close()
  }

  #inTurn<T>(change: () => Promise<T>): Promise<T> {
    return this.#changes.run(async () => {
      this.#requireOpen()
      return change()
    })
  }

  #requireOpen(): void {
    if (this.#isClosed) throw new DeadLettersClosedError(this.#dir)
  }

  #path(id: string): string {
    return join(this.#dir, `${Buffer.from(id).toString('base64url')}.json`)
  }
}

/** Letter ids come from other programs, so they are encoded before they become a file name. */
function idOf(name: string): string {
  return Buffer.from(name.slice(0, -'.json'.length), 'base64url').toString()
}
