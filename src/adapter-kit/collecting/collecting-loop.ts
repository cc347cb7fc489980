import { type Clock, monotonicNow, settlesWithin } from '../../ports/clock.ts'
import type { DeadLetterStore } from '../../ports/dead-letters.ts'
import { NotCollectedError } from './errors.ts'
import { LetterSaver } from './letter-saver.ts'
import { resolveNotReturned } from './not-returned.ts'

const CLOSE_MS = 5_000
const FIRST_BACKOFF_MS = 200
const MAX_BACKOFF_MS = 15_000
const OUTCOME_POLL_MS = 1_000
const REPORT_AFTER_MS = 3_000

/** Reads dead letters of a server and saves them, from where it was the last time. */
interface Collecting {
  /** Whether everything that the last reading found is saved. */
  readonly isCaughtUp: boolean
  /** Reads and saves once. `isWanted` becomes false when the collector stops. */
  collectOnce(saver: LetterSaver, isWanted: () => boolean): Promise<void>
}

interface LoopParts<T extends Collecting> {
  /** The name of the collector. */
  readonly name: string
  readonly clock: Clock
  readonly handledAfterMs: number
  onError(error: unknown): void
  /** Begins at what the server has on record, which is all that is certain after a failure. */
  open(): T
  /** How long to rest after a reading that worked; 0 for not at all. */
  restMs(collecting: T): number
  /** The error for people, and whether it is reported at once. A short problem of a server is not. */
  explain(error: unknown): { readonly problem: Error; readonly isNewsAtOnce: boolean }
}

/** The work between a start and the next stop. */
class Run {
  isOver = false
  /** Ends a rest early. */
  wake: () => void = () => {}
  ended: Promise<void> = Promise.resolve()

  stop(): void {
    this.isOver = true
    this.wake()
  }
}

/** Collects until it is stopped. It survives a server and a store that are away, and reports each problem once. */
export class CollectingLoop<T extends Collecting> {
  readonly #parts: LoopParts<T>
  #run: Run | undefined
  /** The time of the first failure in a row; undefined while collecting works. */
  #failingSince: number | undefined
  /** The current problem is reported once for as long as it lasts. */
  #isReported = false

  constructor(parts: LoopParts<T>) {
    this.#parts = parts
  }

  start(into: DeadLetterStore): void {
    if (this.#run !== undefined) return
    const run = new Run()
    this.#run = run
    run.ended = this.#collect(run, into)
  }

  async stop(): Promise<void> {
    const run = this.#run
    if (run === undefined) return
    this.#run = undefined
    run.stop()
    await settlesWithin(this.#parts.clock, CLOSE_MS, run.ended)
  }

  async #collect(run: Run, store: DeadLetterStore): Promise<void> {
    const { name, clock, onError } = this.#parts
    const saver = new LetterSaver({ name, clock, onError }, store)
    let backoffMs = FIRST_BACKOFF_MS
    let collecting = this.#parts.open()
    let outcomesAt = 0
    while (!run.isOver) {
      const beganAt = clock.now()
      try {
        await collecting.collectOnce(saver, () => !run.isOver)
        if (collecting.isCaughtUp && (beganAt >= outcomesAt + OUTCOME_POLL_MS || beganAt < outcomesAt)) {
          outcomesAt = beganAt
          await this.#resolveOutcomes(store, beganAt)
        }
        backoffMs = FIRST_BACKOFF_MS
        this.#failingSince = undefined
        this.#isReported = false
        const restMs = this.#parts.restMs(collecting)
        if (restMs > 0) await this.#rest(run, restMs)
      } catch (error) {
        this.#tell(run, error)
        await this.#rest(run, backoffMs)
        backoffMs = Math.min(MAX_BACKOFF_MS, backoffMs * 2)
        collecting = this.#parts.open()
      }
    }
  }

  async #resolveOutcomes(store: DeadLetterStore, seenUpTo: number): Promise<void> {
    const { name: broker, handledAfterMs, clock } = this.#parts
    await resolveNotReturned(store, { broker, handledAfterMs, seenUpTo, clock })
  }

  /** A change of a leader takes a moment, so only a longer problem is reported. */
  #tell(run: Run, error: unknown): void {
    const now = monotonicNow(this.#parts.clock)
    this.#failingSince ??= now
    const { problem, isNewsAtOnce } = this.#parts.explain(error)
    const isNews = isNewsAtOnce || now - this.#failingSince >= REPORT_AFTER_MS
    if (this.#isReported || run.isOver || !isNews) return
    this.#isReported = true
    this.#parts.onError(new NotCollectedError(`collector '${this.#parts.name}'`, problem))
  }

  async #rest(run: Run, ms: number): Promise<void> {
    if (run.isOver) return
    await new Promise<void>(resolve => {
      const cancel = this.#parts.clock.schedule(ms, resolve)
      run.wake = () => {
        cancel()
        resolve()
      }
    })
  }
}
