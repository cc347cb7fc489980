import type { LetterCaps } from '../../../core/dead-letter/caps.ts'
import { createLetter } from '../../../core/dead-letter/create.ts'
import type { SaveFilter } from '../../../core/dead-letter/filter.ts'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import type { Reason } from '../../../core/dead-letter/reason.ts'
import type { LazaretEvent } from '../../../core/event/event.ts'
import type { LazaretError } from '../../../core/failure/errors.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { Observer } from '../../../ports/observer.ts'
import { quietly, type Tracing } from '../../../ports/tracing.ts'
import type { DispatcherLetters, Kept } from '../after/dispatcher-letters.ts'
import type { GiveUp } from '../after/give-up.ts'
import { EVERY_SINK } from './entry-limit.ts'
import { observeAsOwn } from './own-context.ts'
import type { Journaled, TrackJournal } from './track-journal.ts'
import { ACCEPTED, DELIVERED, type SinkOutcome, type SinkOutcomes, sameForAll } from './track-result.ts'
import type { TrackingScope } from './tracking-mode.ts'

/** What a dispatcher's events come from: no broker, but the dispatcher itself. */
const OWN_SYSTEM = 'lazaret'

interface TrackDeskSetup {
  /** All sinks. */
  readonly names: readonly string[]
  readonly letters: DispatcherLetters
  /** Decides which letters are kept. */
  readonly keeps: SaveFilter
  readonly journal: TrackJournal | undefined
  readonly observer: Observer
  readonly tracing: Tracing | undefined
  readonly clock: Clock
  readonly caps: LetterCaps
  readonly release: string | undefined
  readonly host: string
}

/** Whose letter it is: a tracked event, or one that never came past the door. */
interface LetterSubject {
  readonly event: LazaretEvent
  readonly scope: TrackingScope
  /** Which replay of the event it is; 0 for its first life. */
  readonly replay: number
  readonly replayId?: string | undefined
}

/** What all tracked events of a dispatcher share: it writes their letters and tells what becomes of them. */
export class TrackDesk {
  readonly names: readonly string[]
  /** Almost every event ends the same way, so that result is made once. */
  readonly allDelivered: SinkOutcomes
  readonly allAccepted: SinkOutcomes
  readonly #setup: TrackDeskSetup

  constructor(setup: TrackDeskSetup) {
    this.#setup = setup
    this.names = setup.names
    this.allDelivered = sameForAll(setup.names, DELIVERED)
    this.allAccepted = sameForAll(setup.names, ACCEPTED)
  }

  /** Saves what a sink, or the door for all of them, gives up on. `inVain`: with that, no sink of a job's event is left. */
  save(subject: LetterSubject, handler: string, giveUp: GiveUp, inVain: boolean): Promise<Kept> {
    if (!this.#keeps(subject, handler, giveUp, inVain)) return Promise.resolve('dropped')
    const letter = this.#letter(subject, handler, giveUp, inVain)
    const kept = this.#send(letter, giveUp)
    const { tracing } = this.#setup
    return tracing === undefined ? kept : this.#followed(tracing, letter, kept)
  }

  /** Letters that are kept already: the filter has been asked. */
  async saveAgain(subject: LetterSubject, giveUps: ReadonlyMap<string, GiveUp>): Promise<void> {
    const again = Array.from(giveUps, ([sink, giveUp]) =>
      this.#send(this.#letter(subject, sink, giveUp, true), giveUp, true),
    )
    await Promise.all(again)
  }

  /** Tells the event's trace that it ended here, once the letter is safe. */
  async #followed(tracing: Tracing, letter: DeadLetter, saving: Promise<Kept>): Promise<Kept> {
    const kept = await saving
    const { event, channel, handler } = letter
    if (kept === 'dead_lettered')
      quietly(() =>
        tracing
          .follow(event, { system: OWN_SYSTEM, channel, handler })
          ?.dead(letter, this.#setup.clock.now()),
      )
    return kept
  }

  #send(letter: DeadLetter, giveUp: GiveUp, again?: boolean): Promise<Kept> {
    const { letters } = this.#setup
    const circumstances = { error: giveUp.thrown, failure: giveUp.failure, again }
    const isBuffered = letter.handler !== EVERY_SINK && giveUp.reason !== 'buffer_full'
    return isBuffered ? letters.save(letter, circumstances) : letters.saveUnbuffered(letter, circumstances)
  }

  dropped({ type }: LazaretEvent, name: string, reason: Reason): void {
    const { observer } = this.#setup
    if (observer.eventDropped) observeAsOwn(observer, 'eventDropped', { name, type, reason })
  }

  undelivered({ type }: LazaretEvent, name: string, reason: Reason): void {
    const { observer } = this.#setup
    if (observer.undelivered) observeAsOwn(observer, 'undelivered', { name, type, reason })
  }

  swallowed({ job }: TrackingScope, error: LazaretError, first: SinkOutcome | undefined): void {
    const { observer } = this.#setup
    if (!observer.trackingFailureSwallowed) return
    const { reason = 'tracking_failed_in_job', failure } = first ?? {}
    observeAsOwn(observer, 'trackingFailureSwallowed', {
      job,
      errorName: failure?.name ?? error.name,
      reason,
    })
  }

  finished(tracked: Journaled): void {
    this.#setup.journal?.finished(tracked)
  }

  /** Asked before the letter is made, which costs more than all else on the way of an event that nobody keeps. */
  #keeps({ event, replay }: LetterSubject, handler: string, giveUp: GiveUp, inVain: boolean): boolean {
    // A replayed event has a letter, which waits to hear how it went.
    if (replay > 0) return true
    const { keeps, observer } = this.#setup
    const { thrown: error, failure, attempts = [], attemptCount = attempts.length } = giveUp
    const reason = reasonOf(giveUp, inVain)
    const { type: name, payload, channel } = event
    const retryCount = Math.max(0, attemptCount - 1)
    const { save } = keeps({ name, payload, error, failure, handler, retryCount, event })
    if (!save && observer.letterFiltered)
      observeAsOwn(observer, 'letterFiltered', { channel, name: handler, reason })
    return save
  }

  #letter(subject: LetterSubject, handler: string, giveUp: GiveUp, inVain: boolean): DeadLetter {
    const { clock, caps, release, host } = this.#setup
    const { event, scope, replay } = subject
    const { reason: endedBy, failure, attempts, attemptCount, detail } = giveUp
    return createLetter(
      {
        event,
        handler,
        reason: reasonOf(giveUp, inVain),
        at: clock.now(),
        failure,
        attempts,
        attemptCount,
        replay,
        replayId: subject.replayId,
        // From the first telling on: a second one in the same moment does not replace it.
        detail: scope.job === undefined ? detail : { ...detail, endedBy },
        job: scope.job,
        release,
        host,
      },
      { caps },
    )
  }
}

function reasonOf({ reason }: GiveUp, inVain: boolean): Reason {
  return inVain ? 'tracking_failed_in_job' : reason
}
