import type { LazaretEvent } from '../../../core/event/event.ts'
import type { LazaretError } from '../../../core/failure/errors.ts'
import type { Observer } from '../../../ports/observer.ts'
import type { DispatcherLetters } from '../after/letters.ts'
import type { LetterHold } from '../letter-hold.ts'
import { eventBytes } from './event-bytes.ts'
import type { TrackJournal } from './journal.ts'
import { observeAsOwn } from './own-context.ts'
import {
  type GiveUp,
  HANDED_OVER,
  JOURNALED,
  type OutcomeKind,
  type SinkOutcome,
  type SinkOutcomes,
  TrackingError,
  type TrackResult,
} from './track-result.ts'
import type { TrackingScope } from './tracking-mode.ts'

/** What all tracked events of a dispatcher share. */
export interface TrackingContext {
  /** All sinks. */
  readonly names: readonly string[]
  readonly letters: DispatcherLetters
  readonly journal: TrackJournal | undefined
  readonly observer: Observer
  /** Almost every event ends the same way, so that result is made once. */
  readonly allDelivered: SinkOutcomes
  readonly allAccepted: SinkOutcomes
}

/** Tells of a failure that the caller does not get to see. */
export function observeSwallowed(
  observer: Observer,
  { job }: TrackingScope,
  error: LazaretError,
  first: SinkOutcome | undefined,
  event: LazaretEvent | undefined,
): void {
  if (!observer.trackingFailureSwallowed) return
  const { reason = 'tracking_failed_in_job', failure } = first ?? {}
  const errorName = failure?.name ?? error.name
  observeAsOwn(observer, 'trackingFailureSwallowed', { job, errorName, reason, event })
}

/** The event of a letter, which is sent once more. */
interface ResentEvent {
  readonly replay: number
  readonly replayId: string | undefined
  readonly hold: LetterHold | undefined
  isHandedOver: boolean
}

type ReportResult = (result: TrackResult | Promise<never>) => void

/**
 * One tracked event, on its way through all its lanes at once. Each lane answers (it took the event, or refused it for
 * good), decides (delivered, or given up on) and settles (the outcome is durable). When all have answered it is
 * accepted; when all have settled its outcome is known.
 */
export class Tracked {
  readonly event: LazaretEvent
  readonly bytes: number
  readonly scope: TrackingScope
  /** Whether the journal has it, once that is known; undefined for what is not critical. */
  journaled: Promise<boolean> | undefined = undefined
  private readonly resent: ResentEvent | undefined
  private readonly context: TrackingContext
  private readonly sinks: readonly string[]
  private unanswered: number
  private undecided: number
  private unsettled: number
  private deliveries = 0
  /** Sinks for which it is in the journal, to be sent by the next process. */
  private left = 0
  private unsaved = 0
  /** Sinks that gave up on it and whose letters are not durable, not yet or not at all. */
  private unsure: Set<string> | undefined = undefined
  /** What was not delivered, which is rare. */
  private failed: Map<string, SinkOutcome> | undefined = undefined
  /** The copies whose letters do not yet say that every sink failed. */
  private giveUps: Map<string, GiveUp> | undefined = undefined
  private thrown: unknown = undefined
  private resolveAccepted: ReportResult | undefined = undefined
  private resolveOutcome: ReportResult | undefined = undefined
  private isFinished = false

  constructor(
    context: TrackingContext,
    event: LazaretEvent,
    sinks: readonly string[],
    scope: TrackingScope,
    resent?: ResentEvent,
  ) {
    this.context = context
    this.event = event
    this.bytes = eventBytes(event)
    this.scope = scope
    this.resent = resent
    this.sinks = sinks
    this.unanswered = sinks.length
    this.undecided = sinks.length
    this.unsettled = sinks.length
  }

  /** Which replay of the event this is; 0 for its first cycle. */
  get replay(): number {
    return this.resent === undefined ? 0 : this.resent.replay
  }

  /** The replay that sent it again, if one did. */
  get replayId(): string | undefined {
    return this.resent?.replayId
  }

  /** The right to send it, if another process may get it instead. */
  get hold(): LetterHold | undefined {
    return this.resent?.hold
  }

  /** Another process sends it, so this one does not know what becomes of it. */
  get isHandedOver(): boolean {
    return this.resent?.isHandedOver === true
  }

  /** Resolves when every lane has answered. */
  accepted(): Promise<TrackResult> {
    if (this.unanswered === 0) return Promise.resolve(this.resultOrError())
    return new Promise(resolve => {
      this.resolveAccepted = resolve
    })
  }

  /** Resolves when every lane has settled. */
  outcome(): Promise<TrackResult> {
    if (this.isFinished) return Promise.resolve(this.resultOrError())
    return new Promise(resolve => {
      this.resolveOutcome = resolve
    })
  }

  answered(): void {
    if (--this.unanswered === 0) this.resolveAccepted?.(this.resultOrError())
  }

  delivered(): void {
    this.deliveries++
    this.undecided--
    void this.settled()
  }

  /** Given up on, with a dead letter. Resolves when that is durable, or cannot be; never rejects. */
  async gaveUp(sink: string, giveUp: GiveUp): Promise<void> {
    this.undecided--
    this.tell('undelivered', sink, giveUp)
    const inVain = this.isInVainInJob
    this.unsure ??= new Set()
    this.unsure.add(sink)
    const outcome = await this.context.letters.save(this, sink, giveUp, inVain)
    if (outcome === 'unsaved') this.unsaved++
    else this.unsure.delete(sink)
    if (outcome === 'dead_lettered' && !inVain) {
      this.giveUps ??= new Map()
      this.giveUps.set(sink, giveUp)
    }
    const settling = this.fail(sink, giveUp, outcome)
    if (settling !== undefined) await settling
  }

  /** The dispatcher closes, and the journal keeps it for this sink. */
  journaledFor(sink: string): void {
    this.left++
    this.undecided--
    this.failed ??= new Map()
    this.failed.set(sink, JOURNALED)
    void this.settled()
  }

  /** Another process sends it to this sink. Nothing is kept here: its letter waits for the outcome of that one. */
  handedOver(sink: string): void {
    if (this.resent !== undefined) this.resent.isHandedOver = true
    this.undecided--
    this.failed ??= new Map()
    this.failed.set(sink, HANDED_OVER)
    void this.settled()
  }

  /** Given up on, with nothing kept, as an option of the lane asks. */
  dropped(sink: string, giveUp: GiveUp): void {
    this.undecided--
    this.tell('undelivered', sink, giveUp)
    this.tell('eventDropped', sink, giveUp)
    void this.fail(sink, giveUp, 'dropped')
  }

  /** Whether all of it is durable: delivered, a dead letter, in the journal, or not to be kept. */
  get isSafe(): boolean {
    return this.unsaved === 0
  }

  /** The sinks that would lose their copy if the process died now. */
  get unsureSinks(): readonly string[] {
    return this.unsure === undefined ? [] : [...this.unsure]
  }

  /** Every lane has given up on it, in a job that continues anyway. */
  private get isInVainInJob(): boolean {
    const { job, onFailure } = this.scope
    return job !== undefined && onFailure === 'swallow' && this.isInVain && this.undecided === 0
  }

  /** So far: no sink has it, nor will get it from the journal. */
  private get isInVain(): boolean {
    return this.deliveries === 0 && this.left === 0
  }

  private tell(what: 'undelivered' | 'eventDropped', name: string, { reason }: GiveUp): void {
    const { observer } = this.context
    if (observer[what]) observeAsOwn(observer, what, { name, type: this.event.type, reason })
  }

  private fail(
    sink: string,
    { reason, failure, thrown }: GiveUp,
    outcome: OutcomeKind,
  ): Promise<void> | undefined {
    this.thrown ??= thrown
    this.failed ??= new Map()
    this.failed.set(sink, { outcome, reason, failure })
    return this.settled()
  }

  /** Only the last lane to give up knows that all did, so the letters of the others are told again. */
  private settled(): Promise<void> | undefined {
    if (--this.unsettled > 0) return undefined
    if (this.giveUps !== undefined && this.isInVainInJob)
      return this.context.letters.saveAgain(this, this.giveUps).then(() => this.finish())
    this.finish()
    return undefined
  }

  private finish(): void {
    this.isFinished = true
    // The journal keeps the event if a copy of it is in memory only, or left to the next process.
    if (this.journaled !== undefined && this.isSafe && this.left === 0)
      this.context.journal?.remove(this.event.id, this.journaled)
    const { observer } = this.context
    const isObserved = this.scope.onFailure === 'swallow' && observer.trackingFailureSwallowed !== undefined
    // Making the error, with its stack, is the most expensive step of a failure. Often nobody waits for it.
    if (!isObserved && this.resolveOutcome === undefined) return
    const error = this.error()
    if (error !== undefined && isObserved)
      observeSwallowed(observer, this.scope, error, this.failed?.values().next().value, this.event)
    this.resolveOutcome?.(this.resultOrError(error))
  }

  private error(): TrackingError | undefined {
    const isInVain = this.isInVain && this.unsettled === 0
    return isInVain || this.unsaved > 0 ? new TrackingError(this.result(), this.thrown) : undefined
  }

  private resultOrError(error = this.error()): TrackResult | Promise<never> {
    if (error === undefined) return this.result()
    if (this.scope.onFailure === 'throw') return Promise.reject(error)
    return { ...this.result(), swallowed: error }
  }

  private result(): TrackResult {
    const { event } = this
    const outcomes = this.unsettled === 0 ? this.context.allDelivered : this.context.allAccepted
    if (this.failed === undefined && this.sinks.length === this.context.names.length)
      return { event, sinks: outcomes }
    const sinks = this.sinks.map(name => [name, this.failed?.get(name) ?? outcomes[name]!] as const)
    return { event, sinks: Object.fromEntries(sinks) }
  }
}
