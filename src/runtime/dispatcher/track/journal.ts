import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import type { LazaretEvent } from '../../../core/event/event.ts'
import type { Random } from '../../../core/random.ts'
import { exponential } from '../../../core/retry/exponential.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { Journal, JournalContents, JournalEntry } from '../../../ports/journal.ts'
import type { Observer } from '../../../ports/observer.ts'
import { Attempt, AttemptContext, TimeoutError } from '../../attempt/attempt.ts'
import { type DeadlineLane, deadlinesOf } from '../../attempt/deadlines.ts'
import { sleep } from '../../sleep.ts'
import type { DispatcherStall } from '../dispatcher-health.ts'
import { EVERY_SINK } from './entry-limit.ts'
import { observeAsOwn } from './own-context.ts'

const TIMEOUT_MS = 5_000
/** Events of an earlier process that are on their way at once. */
const RECOVERED_AT_ONCE = 100
/** The waits before a journal that could not be read is read again. */
const READ_AGAIN = exponential({ baseMs: 1_000, maxMs: 30_000 })
const SLOW = `journal: not read after ${TIMEOUT_MS} ms; check its disk, and which process has locked it`
/** Limits the memory while the journal cannot be read. An event that is forgotten here may be sent twice. */
const MAX_OWN = 100_000

interface Left {
  /** The sinks it is for. */
  readonly sinks: Set<string>
  /** The append that has not begun yet, and takes in all sinks that are added before it does. */
  next: Promise<boolean> | undefined
  /** One after the other: of two at once, the one for fewer sinks could be the last to be written. */
  last: Promise<unknown>
}

/** Keeps critical events in the journal until every sink has its outcome. A failing journal does not delay `track`. */
export class TrackJournal {
  readonly #journal: Journal
  readonly #clock: Clock
  readonly #random: Random
  readonly #observer: Observer
  readonly #lane: DeadlineLane
  readonly #removals = new Set<Promise<unknown>>()
  /**
   * Appended by this process before it knows what an earlier one left: both may be in the answer. Undefined once the
   * journal is read.
   */
  #own: Set<string> | undefined = new Set()
  /** Why the journal is not read yet. */
  #problem: string | undefined
  /** By event, what the next process is to send. */
  readonly #left = new Map<string, Left>()
  readonly #stopped = new AbortController()

  constructor(journal: Journal, clock: Clock, random: Random, observer: Observer) {
    this.#journal = journal
    this.#clock = clock
    this.#random = random
    this.#observer = observer
    this.#lane = deadlinesOf(clock).lane(TIMEOUT_MS)
  }

  /** Whether the event is durable in the journal now. */
  append(event: LazaretEvent, job: string | undefined): Promise<boolean> {
    this.#addOwn(event.id)
    return this.#try(() => this.#journal.append({ event, job }))
  }

  /** While the events that an earlier process left cannot be read. */
  get stalls(): readonly DispatcherStall[] {
    return this.#problem === undefined ? [] : [{ place: 'journal', problem: this.#problem }]
  }

  /** The event needs the journal no more. Waits for the end of its append: the two must not overtake each other. */
  remove(eventId: string, appended: Promise<boolean>): void {
    const removal = appended.then(() => this.#try(() => this.#journal.remove(eventId)))
    this.#removals.add(removal)
    void removal.then(() => this.#removals.delete(removal))
  }

  /** Sends what an earlier process left behind, a bounded number at a time, as soon as the journal can be read. */
  async recover(resend: (entry: JournalEntry) => Promise<unknown>): Promise<void> {
    const pending = await this.#readLeft()
    for (let from = 0; from < pending.length && !this.#isStopped; from += RECOVERED_AT_ONCE)
      await Promise.all(pending.slice(from, from + RECOVERED_AT_ONCE).map(resend))
  }

  /** Leaves an event to the next process, for these sinks and those it was left for before. Whether it is durable now. */
  async leave({ event, sinks = [], job }: JournalEntry): Promise<boolean> {
    const left = this.#left.get(event.id) ?? { sinks: new Set(), next: undefined, last: Promise.resolve() }
    this.#left.set(event.id, left)
    const added = sinks.filter(sink => !left.sinks.has(sink))
    for (const sink of added) left.sinks.add(sink)
    left.next ??= left.last.then(() => {
      left.next = undefined
      return this.#try(() => this.#journal.append({ event, sinks: [...left.sinks], job }))
    })
    left.last = left.next
    const isKept = await left.next
    if (!isKept) for (const sink of added) left.sinks.delete(sink)
    return isKept
  }

  /** The event of a letter that nothing else took. One of a replay has its letter in the store already. */
  async leaveLetter({ event, handler, job, cycle }: DeadLetter): Promise<boolean> {
    if (cycle.number > 0) return false
    if (handler !== EVERY_SINK) return this.leave({ event, sinks: [handler], job })
    return this.#try(() => this.#journal.append({ event, job }))
  }

  /** Recovers nothing more; what is left stays in the journal for the next process. */
  stop(): void {
    this.#stopped.abort()
  }

  /** Resolves when everything that was to be removed is, or could not be. */
  async settled(): Promise<void> {
    await Promise.all(this.#removals)
  }

  get #isStopped(): boolean {
    return this.#stopped.signal.aborted
  }

  /** Asks until the journal answers: a lock or a full disk at the start must not hold events back until the next start. */
  async #readLeft(): Promise<readonly JournalEntry[]> {
    for (let retry = 1, delayMs = 0; !this.#isStopped; retry++) {
      try {
        const { entries, unreadable } = await this.#readAll()
        for (const error of unreadable) this.#tell(error)
        const own = this.#own
        this.#own = undefined
        this.#problem = undefined
        return entries.filter(({ event }) => !own?.has(event.id))
      } catch (error) {
        if (this.#isStopped) break
        this.#stall(error)
      }
      delayMs = READ_AGAIN.delayMs(retry, delayMs, this.#random)
      await sleep(this.#clock, delayMs, this.#stopped.signal).catch(() => {})
    }
    this.#own = undefined
    return []
  }

  /** A large journal takes its time, so a late answer counts. It is only reported. */
  async #readAll(): Promise<JournalContents> {
    const cancel = this.#clock.schedule(TIMEOUT_MS, () => {
      if (!this.#isStopped) this.#stall(new TimeoutError('journal', TIMEOUT_MS), SLOW)
    })
    try {
      return await this.#journal.pending()
    } finally {
      cancel()
    }
  }

  #stall(error: unknown, problem = error instanceof Error ? error.message : String(error)): void {
    this.#problem = problem
    this.#tell(error)
  }

  #addOwn(eventId: string): void {
    const own = this.#own
    if (own === undefined) return
    if (own.size >= MAX_OWN) for (const oldest of own.keys()) if (own.delete(oldest)) break
    own.add(eventId)
  }

  async #try(work: () => Promise<void>): Promise<boolean> {
    const attempt = new Attempt(new AttemptContext(1), 'journal', TIMEOUT_MS, this.#lane)
    const end = await attempt.run(work, this.#clock.now())
    if (!end.ok) this.#tell(end.thrown)
    return end.ok
  }

  #tell(error: unknown): void {
    if (this.#observer.journalFailed) observeAsOwn(this.#observer, 'journalFailed', { error })
  }
}
