import type { Clock } from '../../../ports/clock.ts'
import { nextTurn } from '../../../ports/system-clock.ts'
import { explained } from '../errors.ts'
import { Batch, type Write } from './batch.ts'
import { LineWriter } from './line-writer.ts'
import type { FolderLock } from './lock.ts'
import type { Tail } from './tail.ts'

export interface CommitParts {
  readonly dir: string
  readonly clock: Clock
  readonly lock: FolderLock
  readonly tail: Tail
  /** The lock is held now: make everything known that others have written. `isStrange`: trust nothing of before. */
  readonly begin: (isStrange: boolean) => Promise<void>
  /** The lock is about to be let go. Never rejects. */
  readonly end: () => Promise<void>
}

/** More than this goes into the next write, so that those who came first do not wait for those who came last. */
const MOST_WRITES = 1_024
const MOST_BYTES = 1_048_576
/** A disk that takes a write sooner than this is waiting for the processor more than the other way round. */
const FAST_MS = 2
/** Fewer than this are not worth sharing out. */
const LEAST_SHARED = 16
/** How long a busy process keeps the lock before it looks whether someone else wants it, and how long it steps back. */
const HOLD_MS = 10
const STEP_BACK_MS = 12
/** Lazy writes wait for company up to this many. */
const MOST_LAZY = 256

/**
 * Group commit: whatever arrives while one write and its sync are under way is written together by the next. Nobody
 * waits for a timer, and the busier it gets, the more share one sync.
 *
 * A slow disk gets everything there is: those whose letters are safe are told first, and what they send next goes
 * along. A fast one gets half at a time: while it works on the one half, those of the other are told and send again.
 */
export class Commits {
  readonly #parts: CommitParts
  readonly #lines = new LineWriter()
  readonly #queue: Write[] = []
  #lazy = 0
  #running: Promise<void> | undefined

  constructor(parts: CommitParts) {
    this.#parts = parts
  }

  /** A lazy write is in no hurry: it goes with the next that is, or when there are many, or when the journal closes. */
  add(write: Write, isLazy = false): void {
    this.#queue.push(write)
    if (isLazy && ++this.#lazy < MOST_LAZY) return
    this.#start()
  }

  /** Resolves when nothing is left to be written. */
  async settle(): Promise<void> {
    while (this.#queue.length > 0 || this.#running !== undefined) {
      this.#start()
      await this.#running
    }
  }

  #start(): void {
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined
      // A write that came while the lock was being let go.
      if (this.#queue.length > this.#lazy) this.#start()
    })
  }

  async #run(): Promise<void> {
    const { dir, lock, begin, end, clock } = this.#parts
    while (this.#queue.length > 0) {
      let mustStepBack = false
      try {
        const { isStrange } = await lock.acquire()
        try {
          await begin(isStrange)
          mustStepBack = await this.#commitWhileHeld()
        } finally {
          await end()
          await lock.release()
        }
      } catch (error) {
        const failure = explained('writing in', dir, error)
        for (const write of this.#queue.splice(0)) write.failed(failure)
      }
      if (mustStepBack) await new Promise<void>(resolve => clock.schedule(STEP_BACK_MS, resolve))
    }
  }

  /** True when it stopped because someone else wants the lock. */
  async #commitWhileHeld(): Promise<boolean> {
    const { clock, lock, tail } = this.#parts
    let since = clock.now()
    let isFast = true
    /** What is known to be safe, or not, and nobody was told. */
    let known: Batch | undefined
    const tell = () => {
      known?.settle()
      known = undefined
    }
    for (;;) {
      if (!isFast || this.#queue.length === 0 || known?.hasFailed) {
        tell()
        await nextTurn()
      }
      if (this.#queue.length === 0) return false
      const now = clock.now()
      if (now - since >= HOLD_MS || now < since) {
        tell()
        if (await lock.isWanted()) return true
        since = now
      }
      const batch = new Batch(this.#lines)
      const half = Math.max(LEAST_SHARED, Math.ceil((this.#queue.length + (known?.size ?? 0)) / 2))
      await this.#fill(batch, isFast ? half : MOST_WRITES, tell)
      const startedAt = clock.now()
      const appending = batch.append(tail)
      tell()
      await appending
      isFast = clock.now() - startedAt < FAST_MS
      known = batch
    }
  }

  async #fill(batch: Batch, most: number, beforeWaiting: () => void): Promise<void> {
    this.#lazy = 0
    for (let count = 0; count < Math.min(most, MOST_WRITES); count++) {
      const write = batch.bytes < MOST_BYTES ? this.#queue.shift() : undefined
      if (write === undefined) return
      const added = batch.add(write)
      // Most know at once what to write; waiting for nothing, a thousand times, would cost more than the write.
      if (added === undefined) continue
      beforeWaiting()
      await added
    }
  }
}
