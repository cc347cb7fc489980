import { type Clock, delay, monotonicNow, yieldToEventLoop } from '../../../ports/clock.ts'
import { toStoreError } from '../errors.ts'
import { type JournalRecord, LineWriter, type Span } from './line.ts'
import type { FolderLock } from './lock.ts'
import type { RecordLocation } from './segment-set.ts'
import type { Tail } from './tail.ts'

/** The records of a decision, and the functions that follow their write. */
export interface Decision<T> {
  readonly records: readonly JournalRecord[]
  written(locations: readonly RecordLocation[]): T
  /** The records were not written. */
  failed?(): void
}

/** One request to write records. */
export interface Write {
  /**
   * Called under the lock, when all earlier writes of all processes are known. Returns the records to write. An error
   * fails this write only.
   */
  records(): readonly JournalRecord[] | Promise<readonly JournalRecord[]>
  /** The records are durable at these locations. */
  written(locations: readonly RecordLocation[]): void
  failed(error: unknown): void
}

/** The writes that share one sync: all of them become durable, or none. */
class CommitBatch {
  readonly #lines: LineWriter
  readonly #writes: Write[] = []
  /** The positions of each write's lines in the batch. */
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

  async commit(append: CommitParts['append']): Promise<void> {
    try {
      if (this.bytes === 0) this.#tell(0, 0)
      else {
        const { segment, offset } = await append(this.#lines.bytes)
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
        // The error belongs to this caller. The other callers still get their results.
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
  /** Resolves when the bytes are durable. */
  readonly append: Tail['append']
  /**
   * The lock is held: reads everything that others have written. `mustRecheck` means that nothing read before can be
   * trusted.
   */
  readonly begin: (mustRecheck: boolean) => Promise<void>
  /** The lock is about to be released. Never rejects. */
  readonly end: () => Promise<void>
  /** Not everything is known any more, so nothing can be decided before the next `begin`. */
  readonly mustReread: () => boolean
}

/** The most writes of one commit. More go into the next commit, so that the first callers do not wait for the last ones. */
const MAX_WRITES = 1_024
const MAX_BYTES = 1_048_576
/** The time after which a busy process checks whether another process wants the lock, and the pause that it then makes. */
const HOLD_MS = 10
const YIELD_MS = 12
/** The time for which an idle process keeps the lock. The next write often comes soon and then finds the lock held. */
const IDLE_HOLD_MS = 3
/** The most lazy writes that wait for another write. */
const MAX_LAZY = 256

/**
 * Group commit: the writes that arrive during one write and its sync are written together by the next. There is no timer,
 * and a busier journal shares each sync among more writes.
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

  /**
   * A lazy write is not urgent. It joins the next urgent write, or is written when there are many lazy ones or the
   * journal closes.
   */
  add(write: Write, isLazy = false): void {
    this.#queue.push(write)
    if (isLazy && ++this.#lazy < MAX_LAZY) return
    this.#wake()
    this.#start()
  }

  /** Resolves when everything is written. Nothing may be added after this call. */
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
      // A write may have arrived while the lock was released.
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
        this.#lazy = 0
        for (const write of this.#queue.splice(0)) write.failed(failure)
      }
      if (mustYield && this.#queue.length > 0) await delay(clock, YIELD_MS)
    }
  }

  /** Returns true if it stopped because another process wants the lock. */
  async #commitWhileHeld(): Promise<boolean> {
    const { clock, lock, append, mustReread } = this.#parts
    let since = monotonicNow(clock)
    while (!mustReread() && (this.#queue.length > 0 || (await this.#waitForWrites()))) {
      const batch = new CommitBatch(this.#lines)
      await this.#fill(batch)
      await batch.commit(append)
      // Lets waiting callers continue, so that their next lines join the next write.
      await yieldToEventLoop()
      const now = monotonicNow(clock)
      if (now - since < HOLD_MS) continue
      if (await lock.isWanted()) return true
      since = now
    }
    return false
  }

  /** Returns true if a write has arrived. */
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
      // Most writes return their records synchronously. A thousand needless awaits would cost more than the write.
      if (added !== undefined) await added
    }
  }
}
