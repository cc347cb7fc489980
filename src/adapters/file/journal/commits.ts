import { type Clock, delay, yieldToEventLoop } from '../../../ports/clock.ts'
import { toStoreError } from '../errors.ts'
import { type JournalRecord, LineWriter, type Span } from './line.ts'
import type { FolderLock } from './lock.ts'
import type { RecordLocation } from './segment-set.ts'
import type { Tail } from './tail.ts'

/** What is to be written, and what follows when it is. */
export interface Decision<T> {
  readonly records: readonly JournalRecord[]
  written(locations: readonly RecordLocation[]): T
  /** It was not written. */
  failed?(): void
}

/** Something to be written. */
export interface Write {
  /**
   * Asked under the lock, when everything that was written before is known: what to write, if anything. What it throws
   * becomes its failure and nobody else's.
   */
  records(): readonly JournalRecord[] | Promise<readonly JournalRecord[]>
  /** They are durable, in these places. */
  written(locations: readonly RecordLocation[]): void
  failed(error: unknown): void
}

/** Writes that share one sync: all of them are durable, or none. */
class CommitBatch {
  readonly #lines: LineWriter
  readonly #writes: Write[] = []
  /** Of each write, where its lines lie among those of the batch. */
  readonly #spans: Span[][] = []

  constructor(lines: LineWriter) {
    this.#lines = lines
    lines.clear()
  }

  get bytes(): number {
    return this.#lines.length
  }

  add(write: Write): Promise<void> | undefined {
    try {
      const records = write.records()
      if (records instanceof Promise) {
        return records.then(
          known => this.#take(write, known),
          error => write.failed(error),
        )
      }
      this.#take(write, records)
    } catch (error) {
      write.failed(error)
    }
    return undefined
  }

  async commit(tail: Tail): Promise<void> {
    try {
      if (this.bytes === 0) this.#tell(0, 0)
      else {
        const { segment, offset } = await tail.append(this.#lines.bytes)
        this.#tell(segment.name.number, offset)
      }
    } catch (error) {
      for (const write of this.#writes) write.failed(error)
    }
  }

  #tell(segment: number, start: number): void {
    for (const [index, write] of this.#writes.entries()) {
      try {
        write.written(
          this.#spans[index]!.map(({ offset, length }) => ({ segment, offset: start + offset, length })),
        )
      } catch (error) {
        // This caller's own error: the other callers still get their answer.
        write.failed(error)
      }
    }
  }

  #take(write: Write, records: readonly JournalRecord[]): void {
    this.#spans.push(records.map(record => this.#lines.add(record)))
    this.#writes.push(write)
  }
}

interface CommitParts {
  readonly dir: string
  readonly clock: Clock
  readonly lock: FolderLock
  readonly tail: Tail
  /** The lock is held now: make everything known that others have written. `mustRecheck`: trust nothing of before. */
  readonly begin: (mustRecheck: boolean) => Promise<void>
  /** The lock is about to be released. Never rejects. */
  readonly end: () => Promise<void>
  /** Not everything is known any more, so nothing can be decided before the next `begin`. */
  readonly mustReread: () => boolean
}

/** More than this goes into the next write, so that those who came first do not wait for those who came last. */
const MAX_WRITES = 1_024
const MAX_BYTES = 1_048_576
/** How long a busy process keeps the lock before it looks whether someone else wants it, and how long it steps back. */
const HOLD_MS = 10
const YIELD_MS = 12
/** How long the lock is kept when there is nothing to write: mostly the next write comes soon, and finds it held. */
const IDLE_HOLD_MS = 3
/** Lazy writes wait for company up to this many. */
const MAX_LAZY = 256

/**
 * Group commit: whatever arrives while one write and its sync are under way is written together by the next. Nobody
 * waits for a timer, and the busier it gets, the more share one sync.
 */
export class Commits {
  readonly #parts: CommitParts
  readonly #lines = new LineWriter()
  readonly #queue: Write[] = []
  #lazy = 0
  #running: Promise<void> | undefined
  #isClosing = false
  #wake = () => {}

  constructor(parts: CommitParts) {
    this.#parts = parts
  }

  /** A lazy write is in no hurry: it goes with the next that is, or when there are many, or when the journal closes. */
  add(write: Write, isLazy = false): void {
    this.#queue.push(write)
    if (isLazy && ++this.#lazy < MAX_LAZY) return
    this.#wake()
    this.#start()
  }

  /** Resolves when nothing is left to be written. Nothing must be added after. */
  async settle(): Promise<void> {
    this.#isClosing = true
    while (this.#queue.length > 0 || this.#running !== undefined) {
      this.#wake()
      this.#start()
      await this.#running
    }
  }

  #start(): void {
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined
      // A write that came while the lock was being released.
      if (this.#queue.length > this.#lazy) this.#start()
    })
  }

  async #run(): Promise<void> {
    const { dir, lock, begin, end, clock } = this.#parts
    while (this.#queue.length > 0) {
      let mustYield = false
      try {
        const { mustRecheck } = await lock.acquire()
        try {
          await begin(mustRecheck)
          mustYield = await this.#commitWhileHeld()
        } finally {
          await end()
          await lock.release()
        }
      } catch (error) {
        const failure = toStoreError('writing in', dir, error)
        for (const write of this.#queue.splice(0)) write.failed(failure)
      }
      if (mustYield && this.#queue.length > 0) await delay(clock, YIELD_MS)
    }
  }

  /** True when it stopped because someone else wants the lock. */
  async #commitWhileHeld(): Promise<boolean> {
    const { clock, lock, tail, mustReread } = this.#parts
    let since = clock.now()
    while (!mustReread() && (this.#queue.length > 0 || (await this.#waitForWrites()))) {
      const batch = new CommitBatch(this.#lines)
      await this.#fill(batch)
      await batch.commit(tail)
      // The waiting callers run now, so that their next lines are already in the next write.
      await yieldToEventLoop()
      const now = clock.now()
      if (now >= since && now - since < HOLD_MS) continue
      if (await lock.isWanted()) return true
      since = now
    }
    return false
  }

  /** True when there is something to write after all. */
  async #waitForWrites(): Promise<boolean> {
    if (this.#isClosing) return false
    const { promise, resolve } = Promise.withResolvers<void>()
    const cancel = this.#parts.clock.schedule(IDLE_HOLD_MS, resolve)
    this.#wake = resolve
    await promise
    cancel()
    return this.#queue.length > 0
  }

  async #fill(batch: CommitBatch): Promise<void> {
    this.#lazy = 0
    for (let count = 0; count < MAX_WRITES && batch.bytes < MAX_BYTES; count++) {
      if (this.#parts.mustReread()) return
      const write = this.#queue.shift()
      if (write === undefined) return
      const added = batch.add(write)
      // Most know at once what to write; waiting for nothing, a thousand times, would cost more than the write.
      if (added !== undefined) await added
    }
  }
}
