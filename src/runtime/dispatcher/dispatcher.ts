import type { DeadLetter } from '../../core/dead-letter/letter.ts'
import type { LazaretEvent } from '../../core/event/event.ts'
import { createIdSource } from '../../core/event/uuid.ts'
import type { LazaretError } from '../../core/failure/errors.ts'
import { settlesWithin, systemRandom } from '../../ports/clock.ts'
import type { Breaker } from '../breaker.ts'
import { ClosedError } from '../closed-error.ts'
import { LetterSaver, letterNotices } from '../letter-saver.ts'
import type { RateLimiter, RetryLimiter } from '../limiters.ts'
import { combineObservers } from '../observe.ts'
import {
  NOTHING_TO_RELOAD,
  type OptionValues,
  type PreparedReload,
  type ReloadablePart,
  RunningOptions,
} from '../reload/policy-source.ts'
import { type Closeable, release, retain } from '../share.ts'
import { guardRandom, guardTest } from '../user-functions/guards.ts'
import { UserFaults } from '../user-functions/user-faults.ts'
import { DispatcherLetters } from './after/letters.ts'
import { resend } from './after/resend.ts'
import { Resolutions } from './after/resolutions.ts'
import { UnsentItems } from './after/unsent-items.ts'
import { type DispatcherHealth, dispatcherHealth } from './dispatcher-health.ts'
import {
  changeDispatcher,
  type DispatcherOptions,
  type DispatcherPolicy,
  laneInputs,
  resolveDispatcher,
} from './dispatcher-options.ts'
import { prepareDispatcher } from './dispatcher-reload.ts'
import { Lane } from './lane/lane.ts'
import { lanePolicy } from './lane/lane-options.ts'
import { EntryLimit, EVERY_SINK } from './track/entry-limit.ts'
import { TrackJournal } from './track/journal.ts'
import { inOwnContext, observeAsOwn, toldAsOwn } from './track/own-context.ts'
import { type EventDefaults, eventOf, type TrackInput, type TrackOptions } from './track/track-input.ts'
import {
  ACCEPTED,
  DELIVERED,
  type SinkOutcome,
  sameForAll,
  TrackingError,
  type TrackResult,
} from './track/track-result.ts'
import { observeSwallowed, Tracked, type TrackingContext } from './track/tracked.ts'
import { scopeFor, type TrackingScope } from './track/tracking-mode.ts'
import { HealthChecker } from './write/health-checker.ts'

/** After the grace time: how long each of saving letters, the journal, sinks and stores may take. */
const CLOSE_LIMIT_MS = 5_000

/** Sends events to sinks, each with its own buffer, retries and breaker. */
export interface Dispatcher<N extends string = string> {
  /**
   * Sends an event to every sink. Resolves with what became of it in each; partial success is success. Rejects with a
   * TrackingError when no sink took it, except in a job; its copies are dead letters then.
   */
  track<P = unknown>(input: TrackInput<P>, options?: TrackOptions): Promise<TrackResult<N>>
  /** Sends a dead letter's event once more, past the rate limit, to the sink that gave up on it. */
  resend(letter: DeadLetter): Promise<TrackResult>
  /** Resolves when everything tracked so far has an outcome. */
  flush(): Promise<void>
  /**
   * Takes nothing more, lets events go their way within the grace time, and leaves the rest to the journal, or without
   * one to dead letters. Twice is safe.
   */
  close(options?: { readonly graceMs?: number | undefined }): Promise<void>
  health(): DispatcherHealth<N>
  breaker(sink: N): Breaker | undefined
  /** Whether `close` was called. Such a dispatcher takes no more events. */
  readonly isClosed: boolean
  /** The channel of events that do not name one. */
  readonly channel: string
}

/**
 * A dispatcher sends events to sinks. It takes events at once, and begins to send what an earlier process left in the
 * journal. `close` closes what it is given (sinks, stores, journal) if no other dispatcher or consumer uses it, unless
 * `leaveOpen` says otherwise.
 */
export function createDispatcher<N extends string>(options: DispatcherOptions<N>): Dispatcher<N> {
  const dispatcher = inOwnContext(() => new SinkDispatcher(options as DispatcherOptions))
  inOwnContext(() => dispatcher.start())
  return dispatcher as Dispatcher<string> as Dispatcher<N>
}

/** An event that waits for the answer of a shared limit. */
interface WaitingEvent {
  readonly answered: Promise<unknown>
  /** Ends the wait: the limit is closed with the dispatcher, and would never answer. */
  readonly turnAway: () => void
}

/**
 * track ─▶ the entry limit ─▶ one lane per sink, all at once. Every event that a sink does not get becomes a letter;
 * the letter of an event that the entry limit refused is for every sink.
 */
class SinkDispatcher implements Dispatcher, ReloadablePart {
  readonly #options: RunningOptions<DispatcherOptions>
  #laneInputs: Readonly<Record<string, OptionValues>>
  readonly #policy: DispatcherPolicy
  readonly #faults: UserFaults
  readonly #defaults: EventDefaults
  readonly #entryLimit: EntryLimit
  readonly #lanes: ReadonlyMap<string, Lane>
  /** The same lanes. Every tracked event goes through them, and iterating an array is faster. */
  readonly #laneList: readonly Lane[]
  readonly #saver: LetterSaver
  readonly #context: TrackingContext
  readonly #resolutions: Resolutions
  readonly #checker: HealthChecker | undefined
  readonly #limiters: readonly (RateLimiter | RetryLimiter)[]
  readonly #waiting = new Set<WaitingEvent>()
  #closed: Promise<void> | undefined
  /** Closed, and nothing is in the lanes any more. */
  #isEmpty = false

  constructor(options: DispatcherOptions) {
    // A copy that is not frozen: new options of a file change it while the dispatcher runs.
    const policy = { ...resolveDispatcher(options) }
    this.#policy = policy
    this.#options = new RunningOptions(options)
    this.#laneInputs = laneInputs(options)
    const { sinks, deadLetters, spill, observer, notifier, clock, random, tracing, journal, rateLimit } =
      policy
    const faults = new UserFaults({ name: 'dispatcher', clock, observer }, observeAsOwn)
    this.#faults = faults
    const safeRandom = guardRandom(random, faults, systemRandom)
    const newId = createIdSource(safeRandom)
    const { channel, source, limits, leaveOpen, healthCheck } = policy
    this.#defaults = { channel, source, limits, newId, tracing }
    const owner = { name: 'door', clock, observer: toldAsOwn(observer, 'sharedLimitChanged'), leaveOpen }
    const entryLimit = new EntryLimit(guardBypass(rateLimit, faults), owner)
    this.#entryLimit = entryLimit
    const lanes = Object.entries(policy.lanes).map(([name, settings]) => {
      const shared = { entryLimit, caps: policy.caps, observer, tracing, clock, random }
      return new Lane(lanePolicy(name, sinks[name]!, settings, shared, leaveOpen))
    })
    this.#lanes = new Map(lanes.map(lane => [lane.name, lane]))
    this.#laneList = lanes
    const notices = notifier && letterNotices(notifier, { observer, clock, faults })
    const lettersObserver = notices === undefined ? observer : combineObservers(observer, notices)
    this.#saver = new LetterSaver({ deadLetters, spill, observer: lettersObserver, clock })
    this.#resolutions = new Resolutions(policy)
    const names = [...this.#lanes.keys()]
    const trackJournal = journal && new TrackJournal(journal, clock, safeRandom, observer)
    this.#context = {
      names,
      letters: new DispatcherLetters(policy, this.#saver, trackJournal, faults),
      journal: trackJournal,
      observer,
      allDelivered: sameForAll(names, DELIVERED),
      allAccepted: sameForAll(names, ACCEPTED),
    }
    if (healthCheck !== 'off') this.#checker = new HealthChecker(lanes, healthCheck.everyMs, clock, observer)
    const limiters = [entryLimit.limiter, ...lanes.map(lane => lane.policy.retryLimiter)]
    this.#limiters = limiters.filter(one => one !== undefined)
    this.#options.attach(this)
  }

  prepareReload(options: OptionValues): PreparedReload {
    if (this.#closed !== undefined) return NOTHING_TO_RELOAD
    const next = prepareDispatcher(options, this.#options, this.#laneInputs)
    return {
      changes: next.changes,
      apply: () => {
        this.#options.commit(next.input)
        this.#laneInputs = next.laneInputs
        changeDispatcher(this.#policy, next.policy)
        this.#entryLimit.changePolicy(guardBypass(next.policy.rateLimit, this.#faults))
        this.#context.letters.policyChanged()
        for (const [name, lane] of this.#lanes) lane.change(next.lanes.get(name)!, next.policy.caps)
      },
    }
  }

  /** Begins to move on what an earlier process left behind. */
  start(): void {
    for (const resource of this.#resources()) retain(resource)
    for (const limiter of this.#limiters) limiter.join()
    this.#saver.start().catch(() => {})
    void this.#context.journal?.recover(({ event, sinks, job }) => {
      const lanes = this.#lanesOf(sinks)
      const names = lanes.map(({ name }) => name)
      const tracked = new Tracked(this.#context, event, names, { job, onFailure: 'swallow' })
      tracked.journaled = Promise.resolve(true)
      const now = this.#policy.clock.now()
      for (const lane of lanes) lane.offer(tracked, now)
      return tracked.outcome()
    })
  }

  track(input: TrackInput, options?: TrackOptions): Promise<TrackResult> {
    const { clock, observer, failOnErrorIn } = this.#policy
    const scope = scopeFor(options?.onFailure, failOnErrorIn)
    if (scope.job !== undefined && observer.trackedInJob)
      observeAsOwn(observer, 'trackedInJob', { job: scope.job })
    const now = clock.now()
    let event: LazaretEvent
    try {
      event = eventOf(input, this.#defaults, now)
    } catch (error) {
      return this.#refused(undefined, error as LazaretError, scope)
    }
    if (this.#closed !== undefined) return this.#refused(event, new ClosedError('dispatcher'), scope)
    const retryAt = this.#entryLimit.refuses(event, now)
    if (retryAt instanceof Promise) return this.#waitForLimit(retryAt, event, scope, options)
    if (retryAt !== undefined) return this.#limited(event, scope, now)
    return this.#letIn(event, scope, options, now)
  }

  /** The limit is shared, and must be asked. `flush` waits for that too. */
  async #waitForLimit(
    refuses: Promise<number | undefined>,
    event: LazaretEvent,
    scope: TrackingScope,
    options: TrackOptions | undefined,
  ): Promise<TrackResult> {
    const { promise: answered, resolve } = Promise.withResolvers<number | undefined>()
    const waiting: WaitingEvent = { answered, turnAway: () => resolve(undefined) }
    this.#waiting.add(waiting)
    void refuses.then(resolve)
    const retryAt = await answered
    this.#waiting.delete(waiting)
    const now = this.#policy.clock.now()
    if (this.#isEmpty) return this.#refused(event, new ClosedError('dispatcher'), scope)
    return retryAt === undefined ? this.#letIn(event, scope, options, now) : this.#limited(event, scope, now)
  }

  /** A critical event is durable before `track` resolves: in the journal, or, if that fails, because its outcome is. */
  #letIn(
    event: LazaretEvent,
    scope: TrackingScope,
    options: TrackOptions | undefined,
    now: number,
  ): Promise<TrackResult> {
    const { critical } = this.#policy
    const tracked = new Tracked(this.#context, event, this.#context.names, scope)
    const isCritical = critical?.(event, error => this.#faults.report('critical', error, { event })) ?? false
    if (isCritical) tracked.journaled = this.#context.journal?.append(event, scope.job)
    const { journaled } = tracked
    for (const lane of this.#laneList) lane.offer(tracked, now)
    if (options?.wait !== 'accepted' || (isCritical && journaled === undefined)) return tracked.outcome()
    if (journaled === undefined) return tracked.accepted()
    return Promise.all([tracked.accepted(), journaled]).then(([result, isDurable]) =>
      isDurable ? result : tracked.outcome(),
    )
  }

  resend(letter: DeadLetter): Promise<TrackResult> {
    if (this.#closed !== undefined) return Promise.reject(new ClosedError('dispatcher'))
    return resend(letter, this.#policy, this.#context, this.#resolutions, this.#lanes)
  }

  async flush(): Promise<void> {
    if (this.#waiting.size > 0) await Promise.all(Array.from(this.#waiting, ({ answered }) => answered))
    await Promise.all([...this.#laneList.map(lane => lane.flush()), this.#context.letters.flush()])
  }

  get channel(): string {
    return this.#defaults.channel
  }

  get isClosed(): boolean {
    return this.#closed !== undefined
  }

  health(): DispatcherHealth {
    const sinks = Array.from(this.#lanes, ([name, lane]) => [name, lane.report()] as const)
    const { letters, journal } = this.#context
    const faults = this.#faults.health()
    return dispatcherHealth(Object.fromEntries(sinks), letters.held, faults, journal?.stalls ?? [])
  }

  breaker(sink: string): Breaker | undefined {
    return this.#lanes.get(sink)?.policy.breaker
  }

  close({ graceMs = this.#policy.graceMs }: { readonly graceMs?: number | undefined } = {}): Promise<void> {
    this.#closed ??= inOwnContext(() => this.#shutDown(graceMs))
    return this.#closed
  }

  /** In an order that lets each part still use the ones behind it, and each for a bounded time. */
  async #shutDown(graceMs: number): Promise<void> {
    const { clock, leaveOpen } = this.#policy
    const journal = this.#context.journal
    journal?.stop()
    await settlesWithin(clock, graceMs, this.flush())
    this.#checker?.close()
    const reason = new ClosedError('dispatcher')
    this.#isEmpty = true
    for (const { turnAway } of this.#waiting) turnAway()
    const unsentItems = new UnsentItems(journal)
    const abandoned = Promise.all(this.#laneList.map(lane => lane.abandon(reason, unsentItems)))
    // A journal that hangs is given up on in this time, and then there are letters to be saved.
    await settlesWithin(clock, journal === undefined ? CLOSE_LIMIT_MS : 2 * CLOSE_LIMIT_MS, abandoned)
    await Promise.all([this.#context.letters.close(CLOSE_LIMIT_MS), this.#resolutions.close(CLOSE_LIMIT_MS)])
    await settlesWithin(clock, CLOSE_LIMIT_MS, Promise.all([journal?.settled(), this.#saver.close()]))
    const made = this.#limiters.map(limiter => limiter.close())
    const given = this.#resources().map(resource => release(resource, leaveOpen))
    await settlesWithin(clock, CLOSE_LIMIT_MS, Promise.allSettled([...made, ...given]))
  }

  /** What the dispatcher was given. */
  #resources(): readonly Closeable[] {
    const { sinks, deadLetters, spill, journal, notifier } = this.#policy
    return [...Object.values(sinks), deadLetters, spill, journal, notifier].filter(one => one !== undefined)
  }

  /** Those that lack an event. If none of them is there any more, all take it: twice is better than not at all. */
  #lanesOf(sinks: readonly string[] | undefined): readonly Lane[] {
    const lanes = this.#laneList.filter(({ name }) => sinks?.includes(name) ?? true)
    return lanes.length === 0 ? this.#laneList : lanes
  }

  /** The limit is the dispatcher's own wish and no failure, so nothing is thrown unless the event is in danger. */
  async #limited(event: LazaretEvent, scope: TrackingScope, now: number): Promise<TrackResult> {
    const { observer } = this.#policy
    const giveUp = this.#entryLimit.giveUp(now)
    const outcome = await this.#context.letters.save({ event, scope, replay: 0 }, EVERY_SINK, giveUp, false)
    const became = outcome === 'dead_lettered' ? 'saved' : outcome
    if (observer.eventLimited) observeAsOwn(observer, 'eventLimited', { type: event.type, became })
    const result = this.#everywhere(event, { outcome, reason: 'rate_limited' })
    if (outcome !== 'unsaved') return result
    const error = new TrackingError(result)
    if (scope.onFailure === 'throw') throw error
    observeSwallowed(observer, scope, error, { outcome, reason: 'rate_limited' }, event)
    return { ...result, swallowed: error }
  }

  /** What the entry limit was never asked about: no event, or one that came too late. */
  async #refused(
    event: LazaretEvent | undefined,
    error: LazaretError,
    scope: TrackingScope,
  ): Promise<TrackResult> {
    if (scope.onFailure === 'throw') throw error
    let refusal: SinkOutcome = { outcome: 'dropped', reason: 'schema' }
    if (event !== undefined) {
      const giveUp = { reason: 'shutdown', thrown: error } as const
      const inJob = scope.job !== undefined
      refusal = {
        outcome: await this.#context.letters.save({ event, scope, replay: 0 }, EVERY_SINK, giveUp, inJob),
        reason: 'shutdown',
      }
    }
    observeSwallowed(this.#policy.observer, scope, error, refusal, event)
    return { ...this.#everywhere(event, refusal), swallowed: error }
  }

  #everywhere(event: LazaretEvent | undefined, outcome: SinkOutcome): TrackResult {
    return { event, sinks: sameForAll(this.#context.names, outcome) }
  }
}

function guardBypass(
  policy: DispatcherPolicy['rateLimit'],
  faults: UserFaults,
): DispatcherPolicy['rateLimit'] {
  const when = policy?.bypass.when
  if (policy === undefined || when === undefined) return policy
  return {
    ...policy,
    bypass: { ...policy.bypass, when: guardTest(when, 'bypass', false, faults, event => ({ event })) },
  }
}
