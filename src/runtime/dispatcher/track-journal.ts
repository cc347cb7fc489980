import type { LazaretEvent } from '../../core/event/event.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Journal } from '../../ports/journal.ts'
import type { Observer } from '../../ports/observer.ts'
import { Attempt } from '../attempt.ts'
import { AttemptContext } from '../attempt-context.ts'
import { type DeadlineLane, deadlinesOf } from '../deadlines.ts'
import { observe } from '../observe.ts'
import type { Tracked } from './tracked.ts'

const TIMEOUT_MS = 5_000
/** Events of an earlier process that are on their way at once. */
const RECOVERED_AT_ONCE = 100

/** Keeps critical events in the journal for as long as they are on their way. A journal that fails delays nobody. */
export class TrackJournal {
  readonly #journal: Journal
  readonly #clock: Clock
  readonly #observer: Observer
  readonly #lane: DeadlineLane
  readonly #removals = new Set<Promise<unknown>>()
  /** Appended by this process before it knows what an earlier one left: both may be in the answer. */
  #own: Set<string> | undefined = new Set()
  #isStopped = false

  constructor(journal: Journal, clock: Clock, observer: Observer) {
    this.#journal = journal
    this.#clock = clock
    this.#observer = observer
    this.#lane = deadlinesOf(clock).lane(TIMEOUT_MS)
  }

  /** Whether the event is durable in the journal now. */
  append(tracked: Tracked): Promise<boolean> {
    this.#own?.add(tracked.event.id)
    tracked.journaled = this.#try(() => this.#journal.append(tracked.event))
    return tracked.journaled
  }

  /** The event needs the journal no more, unless a copy of it is in memory only. */
  finished(tracked: Tracked): void {
    if (tracked.journaled === undefined || !tracked.isSafe) return
    // After the append has ended: the two must not overtake each other.
    const removal = tracked.journaled.then(() => this.#try(() => this.#journal.remove(tracked.event.id)))
    this.#removals.add(removal)
    void removal.then(() => this.#removals.delete(removal))
  }

  /** Sends what an earlier process left behind, a bounded number at a time. */
  async recover(resend: (event: LazaretEvent) => Promise<unknown>): Promise<void> {
    try {
      const pending = (await this.#journal.pending()).filter(({ id }) => !this.#own?.has(id))
      this.#own = undefined
      for (let from = 0; from < pending.length && !this.#isStopped; from += RECOVERED_AT_ONCE)
        await Promise.all(pending.slice(from, from + RECOVERED_AT_ONCE).map(resend))
    } catch (error) {
      this.#own = undefined
      this.#tell(error)
    }
  }

  /** Recovers nothing more; what is left stays in the journal for the next process. */
  stop(): void {
    this.#isStopped = true
  }

  /** Resolves when everything that was to be removed is, or could not be. */
  async settled(): Promise<void> {
    await Promise.all(this.#removals)
  }

  async #try(work: () => Promise<void>): Promise<boolean> {
    const attempt = new Attempt(new AttemptContext(1), 'journal', TIMEOUT_MS, this.#lane)
    const end = await attempt.run(work, this.#clock.now())
    if (!end.ok) this.#tell(end.thrown)
    return end.ok
  }

  #tell(error: unknown): void {
    if (this.#observer.journalFailed) observe(this.#observer, 'journalFailed', { error })
  }
}
