import { SerialQueue } from '../../../adapter-kit/serial-queue.ts'
import { toStoreError } from '../errors.ts'
import { codeOf } from './files.ts'
import type { Journal } from './journal.ts'
import { readLine, readLines } from './line.ts'
import type { LineIndex } from './line-index.ts'
import type { LineLocation } from './segment-rows.ts'
import type { Segment } from './segment-set.ts'

/** A closed segment is rewritten if at least this share of it is garbage. */
const MIN_GARBAGE_SHARE = 0.5

/**
 * Rewrites closed segments without what no longer counts, one at a time and oldest first, while others go on writing.
 * A segment's next revision is whole and durable before the one before it goes.
 *
 * A `delete` line is needed for as long as an older segment has a line that it deletes. So it goes only when all older
 * segments have no dead line left, which, oldest first, is mostly so.
 */
export class Compaction {
  readonly #journal: Journal
  readonly #index: LineIndex<unknown>
  /** The bytes of lines that a rewrite had to keep, by segment. Another rewrite would not save them. */
  readonly #needed = new Map<number, number>()
  readonly #runs = new SerialQueue()
  /** Whether a run in the background has not ended. */
  #isStarted = false
  #isStopped = false

  constructor(journal: Journal, index: LineIndex<unknown>) {
    this.#journal = journal
    this.#index = index
  }

  /** Starts a rewrite in the background if it saves enough. The next call of `run` reports errors. */
  start(): void {
    if (this.#isStopped || this.#isStarted) return
    const closed = this.#journal.segments.all.filter(segment => segment.isClosed)
    if (closed.some(segment => this.#garbage(segment) >= segment.end * MIN_GARBAGE_SHARE)) {
      this.#startRun(() => this.run())
    }
  }

  /** Removes in the background what a killed process left of a rewrite. On a full disk that can be the only room. */
  async removeLeftovers(): Promise<void> {
    const leftovers = await this.#journal.folder.leftovers().catch(() => [])
    if (leftovers.length > 0) this.#startRun(() => this.#runs.run(() => this.#whileLocked(async () => {})))
  }

  run(isExpired: (segment: Segment) => boolean = () => false): Promise<void> {
    return this.#runs.run(() => this.#run(isExpired))
  }

  /**
   * Removes each closed segment whose live lines are all dispensable, and returns the number of those lines. Unlike a `delete`
   * line, this needs no disk space.
   */
  removeFilesOf(isDispensable: IsDispensable): Promise<number> {
    return this.#runs.run(async () => (this.#isStopped ? 0 : this.#removeFilesOf(isDispensable)))
  }

  /** Ends the rewrite in progress, and starts no other. */
  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#runs.settled()
  }

  #startRun(run: () => Promise<void>): void {
    this.#isStarted = true
    // The next call of `run` reports errors.
    void run()
      .catch(() => {})
      .finally(() => {
        this.#isStarted = false
      })
  }

  async #run(isExpired: (segment: Segment) => boolean): Promise<void> {
    const { segments } = this.#journal
    await this.#whileLocked(async () => {
      let isClean = true
      for (const segment of segments.all.filter(each => each.isClosed)) {
        const live = await this.#ifKnown(segment, async () => this.#liveOffsets(segment, isExpired))
        const isGone = live !== undefined && (await this.#rewrite(segment, live, isClean)) === 'removed'
        if (!isGone) isClean &&= await this.#ifKnown(segment, async () => this.#isClean(segment))
      }
    })
  }

  /** A segment behind one that is not clean stays: its lines may be what makes lines of that one dead. */
  async #removeFilesOf(isDispensable: IsDispensable): Promise<number> {
    let removed = 0
    await this.#whileLocked(async () => {
      for (const segment of this.#journal.segments.all.filter(each => each.isClosed)) {
        const lines = await this.#ifKnown(segment, () => this.#removeIf(segment, isDispensable))
        removed += lines ?? 0
        if (lines === undefined && !(await this.#ifKnown(segment, async () => this.#isClean(segment)))) return
      }
    })
    return removed
  }

  /** Runs the work while no other process rewrites files, with all files known. */
  async #whileLocked(work: () => Promise<void>): Promise<void> {
    const { rewriting, folder, files } = this.#journal
    await rewriting.acquire()
    try {
      await this.#journal.refreshFiles()
      for (const path of await folder.leftovers()) await files.remove(path).catch(() => {})
      await work()
    } catch (error) {
      // The list of segments is out of date. The next run reads the folder first.
      if (!(error instanceof OutdatedError)) throw toStoreError('rewriting the files in', folder.dir, error)
    } finally {
      await rewriting.release()
    }
  }

  /**
   * Decides by what the index says while nobody reads the folder. When the folder was read again from the beginning since
   * this run began, or that reading failed halfway, the index may not know letters that are there: this run is over.
   */
  #ifKnown<T>(segment: Segment, work: () => Promise<T>): Promise<T> {
    return this.#journal.exclusively(() => {
      if (this.#journal.segments.find(segment.name.number) !== segment) throw new OutdatedError()
      return work()
    })
  }

  /** A process that stood still may have been replaced. What it knows of the files is out of date then. */
  async #requireLock(): Promise<void> {
    if (!(await this.#journal.rewriting.isHeld())) throw new OutdatedError()
  }

  #garbage({ name: { number }, end }: Segment): number {
    return end - this.#index.liveBytes(number) - (this.#needed.get(number) ?? 0)
  }

  /** Whether no line of the segment needs a later deletion. */
  #isClean(segment: Segment): boolean {
    return !segment.hasUnread && !segment.isDamaged && !this.#index.hasDead(segment.name.number)
  }

  /** The offsets of the live lines; undefined if the segment must not be rewritten. */
  #liveOffsets(segment: Segment, isExpired: (segment: Segment) => boolean): ReadonlySet<number> | undefined {
    const garbage = this.#garbage(segment)
    const mayRewrite = !segment.hasUnread && (!segment.isDamaged || isExpired(segment))
    const isWorthIt = mayRewrite && garbage > 0 && garbage >= segment.end * MIN_GARBAGE_SHARE
    return isWorthIt ? this.#index.liveOffsets(segment.name.number) : undefined
  }

  async #rewrite(
    segment: Segment,
    live: ReadonlySet<number>,
    dropsDeletes: boolean,
  ): Promise<'removed' | undefined> {
    const kept = await this.#linesToKeep(segment, live, dropsDeletes)
    if (kept === undefined) {
      segment.isDamaged = true
      return undefined
    }
    if (kept.lines.length === 0) await this.#ifKnown(segment, () => this.#unlink(segment))
    else await this.#replace(segment, kept)
    this.#needed.set(segment.name.number, kept.neededBytes)
    return kept.lines.length === 0 ? 'removed' : undefined
  }

  /** Returns undefined if this finds new damage in the segment. The segment then stays as it is. */
  async #linesToKeep(
    segment: Segment,
    live: ReadonlySet<number>,
    dropsDeletes: boolean,
  ): Promise<KeptLines | undefined> {
    const { files, folder } = this.#journal
    const kept: KeptLines = { lines: [], moves: new Map(), bytes: 0, neededBytes: 0 }
    const path = folder.path(segment.name)
    // Known damage is only here if it is past its retention.
    const mayDrop = segment.isDamaged
    let isDamaged = false
    const { end, tornBytes } = await readLines(files, path, 0, (line, offset) => {
      const kind = readLine(line)?.kind
      const isLive = live.has(offset)
      if (kind === undefined && (isLive || !mayDrop)) {
        isDamaged = true
        this.#journal.damage.add({ kind: 'checksum', path, offset, bytes: line.length })
      }
      if (!isLive && (kind === undefined || kind === 'put' || (kind === 'delete' && dropsDeletes))) return
      if (isLive) kept.moves.set(offset, kept.bytes)
      else kept.neededBytes += line.length + 1
      kept.lines.push(Buffer.from(line), NEWLINE_BYTES)
      kept.bytes += line.length + 1
    })
    if (isDamaged) return undefined
    if (tornBytes > 0) await this.#setAside(segment, end, tornBytes)
    return kept
  }

  /**
   * Keeps the torn end of a segment in a file of its own. A crash leaves such an end, and it was never acknowledged then;
   * but somebody may have cut a line that was.
   */
  async #setAside({ name }: Segment, end: number, tornBytes: number): Promise<void> {
    const { files, folder } = this.#journal
    const bytes = Buffer.alloc(tornBytes)
    const from = await files.open(folder.path(name), 'r')
    try {
      await files.read(from, bytes, end)
    } finally {
      await files.close(from)
    }
    await this.#writeTo(await files.open(folder.path(name, 'damaged'), 'w'), bytes)
    await files.syncFolder(folder.dayFolder(name))
  }

  async #writeTo(fd: number, bytes: Uint8Array): Promise<void> {
    const { files } = this.#journal
    try {
      await files.write(fd, bytes, 0)
      await files.datasync(fd)
    } finally {
      await files.close(fd)
    }
  }

  async #replace(segment: Segment, { lines, moves, bytes }: KeptLines): Promise<void> {
    const { files, folder } = this.#journal
    const old = segment.name
    const next = { ...old, revision: old.revision + 1 }
    const path = folder.path(next, 'jsonl.tmp')
    const fd = await files.open(path, 'wx')
    try {
      await this.#writeTo(fd, Buffer.concat(lines))
      await this.#ifKnown(segment, async () => {
        await this.#requireLock()
        // Unlike a rename, a link never replaces a file that another process has written.
        await files.link(path, folder.path(next)).catch(error => {
          throw codeOf(error) === 'EEXIST' ? new OutdatedError() : error
        })
        await files.syncFolder(folder.dayFolder(next))
        segment.name = next
        segment.end = bytes
        segment.isTorn = false
        this.#index.move(next.number, moves)
        await files.remove(folder.path(old))
        await files.remove(folder.path(old, 'index')).catch(() => {})
      })
    } finally {
      // On a full disk the file of a failed rewrite can have taken the last room.
      await files.remove(path).catch(() => {})
    }
  }

  /** Returns the number of live lines of the removed segment; undefined if it stays. */
  async #removeIf(segment: Segment, isDispensable: IsDispensable): Promise<number | undefined> {
    const live = this.#index.liveLines(segment.name.number)
    // A torn end is moved to its own file by a rewrite alone, because that needs disk space.
    if (segment.hasUnread || segment.isDamaged || segment.isTorn) return undefined
    if (!live.every(({ id, location }) => isDispensable(id, location))) return undefined
    await this.#unlink(segment)
    return live.length
  }

  /** Removes the segment durably, before a rewrite drops later `delete` lines that its lines need. */
  async #unlink(segment: Segment): Promise<void> {
    const { files, folder, segments } = this.#journal
    const { name } = segment
    await this.#requireLock()
    await files.remove(folder.path(name))
    segments.drop(segment)
    // An id that was written again meanwhile has its live line elsewhere.
    for (const { id } of this.#index.liveLines(name.number)) this.#index.forget(id)
    this.#index.move(name.number, new Map())
    await files.remove(folder.path(name, 'index')).catch(() => {})
    await files.syncFolder(folder.dayFolder(name))
    await files.removeFolder(folder.dayFolder(name)).catch(() => {})
  }
}

/** Whether a live line can be removed, because its letter is elsewhere. */
type IsDispensable = (id: string, location: LineLocation) => boolean

/** The folder was read again from the beginning, or another process rewrites its files now. */
class OutdatedError extends Error {}

const NEWLINE_BYTES = Buffer.from('\n')

interface KeptLines {
  readonly lines: Buffer[]
  /** The old and the new offset of each line that is kept. */
  readonly moves: Map<number, number>
  bytes: number
  neededBytes: number
}
