import type { Damage, DamageReport } from './damage.ts'
import { codeOf, type Files } from './files.ts'
import { type JournalRecord, readLine, readLines } from './line.ts'
import type { SegmentFolder, SegmentName } from './segments.ts'

/** The location of a line. */
export interface RecordLocation {
  /** The number of the segment. */
  readonly segment: number
  readonly offset: number
  /** The length without the newline. */
  readonly length: number
}

/** The user of the journal interprets its records. */
export interface JournalUser {
  /** Receives every record once, in the order of writing. Throws UnreadableError for a record that it cannot read. */
  apply(record: JournalRecord, location: RecordLocation): void
  /** Forgets everything, because all records will be read again. */
  reset(): void
  /** Whether the user knows the content of the segment without reading it. */
  restore?(segment: Segment, size: number): Promise<boolean>
  /** No process adds to the segment any more. */
  closed?(segment: Segment): void
}

/** A user of a journal throws this for an intact record that it cannot interpret. */
export class UnreadableError extends Error {
  override readonly name = 'UnreadableError'
}

/** The JSON value of an intact record. A later version, or a person, may have written something else. */
export function jsonOf({ text }: JournalRecord): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new UnreadableError('no JSON', { cause: error })
  }
}

export interface Segment {
  name: SegmentName
  /** The end of the last complete line that this process has read or written. */
  end: number
  /** A later segment exists, so no process adds to this one. */
  isClosed: boolean
  /** The end of the segment is wrong, so this process adds nothing to it. Other processes may decide otherwise. */
  isAbandoned: boolean
  /**
   * Bytes follow its end that this process has not read, and others may have: a write failed and could not be cut off.
   * Until the folder is read again, this process does not know their content, so the segment is not rewritten, and no
   * deletion in a later one is forgotten.
   */
  hasUnread: boolean
  /** The segment has unreadable lines. It is not rewritten, so that a person can examine them. */
  isDamaged: boolean
  /** Bytes without a newline follow its last line. A rewrite moves them to a file of their own. */
  isTorn: boolean
}

interface TornEnd {
  readonly segment: Segment
  readonly damage: Damage
}

/** A process that cleans up rewrites one file after the other. Each try continues behind the files already read. */
const MAX_TRIES = 50

/** The segments of a journal, and how far each was read. */
export class SegmentSet {
  readonly #files: Files
  readonly #folder: SegmentFolder
  readonly #user: JournalUser
  readonly #damage: DamageReport
  #all: Segment[] = []
  readonly #byNumber = new Map<number, Segment>()
  #isPartial = false
  /** A file is shorter than what was read of it: somebody cut it, or a writer takes back a failed write just now. */
  #shrunk: Damage | undefined
  /** The last file ends without a newline: its end is torn, or being written just now. */
  #torn: TornEnd | undefined

  constructor(files: Files, folder: SegmentFolder, user: JournalUser, damage: DamageReport) {
    this.#files = files
    this.#folder = folder
    this.#user = user
    this.#damage = damage
  }

  /** The segments in order. */
  get all(): readonly Segment[] {
    return this.#all
  }

  get last(): Segment | undefined {
    return this.#all.at(-1)
  }

  add(name: SegmentName): Segment {
    const segment: Segment = {
      name,
      end: 0,
      isClosed: false,
      isAbandoned: false,
      hasUnread: false,
      isDamaged: false,
      isTorn: false,
    }
    this.#all.push(segment)
    this.#byNumber.set(name.number, segment)
    return segment
  }

  /**
   * The user of the journal does not know every record, because reading from the beginning has failed halfway; or it
   * knows records that are gone.
   */
  get isPartial(): boolean {
    return this.#isPartial
  }

  get hasUnread(): boolean {
    return this.#all.some(segment => segment.hasUnread)
  }

  /** Whether a file is shorter or a last line is incomplete. That is damage unless a process is writing. */
  get hasSuspects(): boolean {
    return this.#shrunk !== undefined || this.#torn !== undefined
  }

  /** Call it when no process has written since the files were read. */
  confirmDamage(): void {
    const [shrunk, torn] = [this.#shrunk, this.#torn]
    this.#shrunk = undefined
    this.#torn = undefined
    // A file whose failed write was taken back has another name now.
    if (shrunk !== undefined && this.#all.some(({ name }) => this.#folder.path(name) === shrunk.path))
      this.#damage.add(shrunk)
    if (torn !== undefined) this.#addTorn(torn)
  }

  /** The holder of the lock found the file shorter than it had left it. Lines that are gone must not count any longer. */
  addShrunk(segment: Segment, size: number): void {
    this.#damage.add(this.#shrunkTo(segment, size))
    segment.hasUnread = true
    this.#isPartial = true
  }

  find(number: number): Segment | undefined {
    return this.#byNumber.get(number)
  }

  drop(segment: Segment): void {
    this.#all = this.#all.filter(each => each !== segment)
    this.#byNumber.delete(segment.name.number)
  }

  /**
   * Reads what others have written. `isAlone` means that the lock is held: only then is an end without a newline
   * certainly torn, and not about to be completed.
   */
  async catchUp(isAlone: boolean): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#catchUp(await this.#folder.list(), isAlone)
      } catch (error) {
        // Another process rewrote the file after it was listed.
        if (codeOf(error) !== 'ENOENT' || tries === MAX_TRIES) throw error
      }
    }
  }

  /** Reads everything from the beginning when files are not those that were read. */
  async rereadIfRebuilt(): Promise<void> {
    if (this.#isPartial || (await this.#isRebuilt(await this.#folder.list()))) await this.catchUp(false)
  }

  async #catchUp(names: readonly SegmentName[], isAlone: boolean): Promise<void> {
    if (await this.#isRebuilt(names)) {
      this.#isPartial = true
      this.#user.reset()
      this.#all = []
      this.#byNumber.clear()
    }
    this.#torn = undefined
    const last = names.at(-1)
    for (const name of names) {
      const segment = this.find(name.number) ?? this.add(name)
      if (!segment.isClosed) await this.#readOn(segment, name === last, isAlone)
    }
    this.#isPartial = false
    if (isAlone) this.confirmDamage()
  }

  /** Whether the files differ from what was read before. Then they are read from the beginning. */
  async #isRebuilt(names: readonly SegmentName[]): Promise<boolean> {
    if (this.hasUnread) return true
    const found = new Map(names.map(name => [name.number, name]))
    const last = this.last
    if (this.#all.some(({ name }) => found.get(name.number)?.revision !== name.revision)) return true
    if (last === undefined) return false
    if (names.some(({ number }) => number < last.name.number && this.find(number) === undefined)) return true
    const size = await this.#files.sizeOf(this.#folder.path(last.name))
    if (size >= last.end) return false
    this.#shrunk = this.#shrunkTo(last, size)
    return true
  }

  async #readOn(segment: Segment, isLast: boolean, isAlone: boolean): Promise<void> {
    const path = this.#folder.path(segment.name)
    const size = await this.#files.sizeOf(path)
    if (!isLast && segment.end === 0 && (await this.#user.restore?.(segment, size))) {
      segment.end = size
      segment.isClosed = true
      return
    }
    const { end, tornBytes } = await readLines(this.#files, path, segment.end, (line, offset) => {
      this.#show(segment, path, line, offset)
      segment.end = offset + line.length + 1
    })
    if (tornBytes > 0) {
      const torn = { segment, damage: { kind: 'torn', path, offset: end, bytes: tornBytes } } as const
      segment.isAbandoned ||= !isLast || isAlone
      if (isLast) this.#torn = torn
      else this.#addTorn(torn)
    }
    if (!isLast) this.close(segment)
  }

  #addTorn({ segment, damage }: TornEnd): void {
    segment.isTorn = true
    this.#damage.add(damage)
  }

  #shrunkTo({ name, end }: Segment, size: number): Damage {
    return { kind: 'shrunk', path: this.#folder.path(name), offset: size, bytes: end - size }
  }

  close(segment: Segment): void {
    segment.isClosed = true
    this.#user.closed?.(segment)
  }

  #show(segment: Segment, path: string, line: Buffer, offset: number): void {
    const location = { segment: segment.name.number, offset, length: line.length }
    const record = readLine(line)
    const found = { path, offset, bytes: line.length }
    if (record === undefined) {
      segment.isDamaged = true
      this.#damage.add({ kind: 'checksum', ...found })
      return
    }
    try {
      this.#user.apply(record, location)
    } catch (error) {
      if (!(error instanceof UnreadableError)) throw error
      segment.isDamaged = true
      this.#damage.add({ kind: 'unreadable', ...found, error: error.cause })
    }
  }
}
