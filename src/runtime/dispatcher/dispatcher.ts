import type { DeadLetter } from '../../core/dead-letter/letter.ts'
import type { LazaretEvent } from '../../core/event/event.ts'
import type { LazaretError } from '../../core/failure/errors.ts'
import { within } from '../../ports/clock.ts'
import type { Breaker } from '../breaker.ts'
import { ClosedError } from '../closed-error.ts'
import { release, retain } from '../share.ts'
import { Leftovers } from './after/leftovers.ts'
import { resend } from './after/resend.ts'
import { type DispatcherHealth, dispatcherHealth } from './dispatcher-health.ts'
import { type DispatcherOptions, type DispatcherPolicy, resolveDispatcher } from './dispatcher-options.ts'
import { type DispatcherParts, dispatcherParts } from './dispatcher-parts.ts'
import type { Lane } from './lane/lane.ts'
import { EVERY_SINK } from './track/entry-limit.ts'
import { eventBytes } from './track/event-bytes.ts'
import { inOwnContext, observeAsOwn } from './track/own-context.ts'
import { TrackingError } from './track/track-error.ts'
import { eventOf, type TrackInput, type TrackOptions } from './track/track-input.ts'
import { type SinkOutcome, sameForAll, type TrackResult } from './track/track-result.ts'
import { Tracked } from './track/tracked.ts'
import { type TrackingScope, trackingScope } from './track/tracking-mode.ts'

/** After the grace time: how long each of saving letters, the journal, sinks and stores may take. */
const CLOSE_LIMIT_MS = 5_000

export interface Dispatcher<N extends string = string> {
  /**
   * Sends an event to every sink. Resolves with what became of it in each; partial success is success. Rejects with a
   * TrackingError when no sink took it, except in a job; its copies are dead letters then.
   */
  track<P = unknown>(input: TrackInput<P>, options?: TrackOptions): Promise<TrackResult<N>>
  /** Sends a dead letter's event once more, past the door, to the sink that gave up on it. */
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
}

/**
 * A dispatcher sends events to sinks. It takes events at once, and begins to send what an earlier process left in the
 * journal. What it is given (sinks, stores, journal) is closed with the last dispatcher or consumer that uses it.
 */
export function createDispatcher<N extends string>(options: DispatcherOptions<N>): Dispatcher<N> {
  const policy = resolveDispatcher(options as DispatcherOptions)
  const dispatcher = inOwnContext(() => new FanOut(policy))
  inOwnContext(() => dispatcher.recover())
  return dispatcher as Dispatcher<string> as Dispatcher<N>
}

/** An event that waits for what a shared limit says. */
interface AtDoor {
  readonly answered: Promise<unknown>
  /** Ends the wait: the limit is closed with the dispatcher, and would never answer. */
  readonly turnAway: () => void
}

/**
 * track ─▶ the door ─▶ one lane per sink, all at once. Whatever keeps an event from a sink ends in a letter; the letter
 * of an event that never came past the door is for every sink.
 */
class FanOut implements Dispatcher {
  readonly #policy: DispatcherPolicy
  readonly #parts: DispatcherParts
  readonly #names: readonly string[]
  readonly #lanes: readonly Lane[]
  readonly #atDoor = new Set<AtDoor>()
  #closed: Promise<void> | undefined
  /** Closed, and nothing is in the lanes any more. */
  #isEmpty = false

  constructor(policy: DispatcherPolicy) {
    this.#policy = policy
    this.#parts = dispatcherParts(policy)
    this.#names = [...this.#parts.lanes.keys()]
    this.#lanes = [...this.#parts.lanes.values()]
  }

  /** Begins to move on what an earlier process left behind. */
  recover(): void {
    const { box, journal, resources, limiters } = this.#parts
    for (const resource of resources) retain(resource)
    for (const limiter of limiters) limiter.join()
    box.start().catch(() => {})
    void journal?.recover(({ event, sinks, job }) => {
      const lanes = this.#lanesOf(sinks)
      const names = lanes.map(({ name }) => name)
      const scope: TrackingScope = { job, onFailure: 'swallow' }
      const tracked = new Tracked(this.#parts.desk, event, eventBytes(event), names, scope)
      tracked.journaled = Promise.resolve(true)
      const now = this.#policy.clock.now()
      for (const lane of lanes) lane.offer(tracked, now)
      return tracked.outcome()
    })
  }

  track(input: TrackInput, options?: TrackOptions): Promise<TrackResult> {
    const { clock, observer } = this.#policy
    const { door, defaults } = this.#parts
    const scope = scopeFor(options)
    if (scope.job !== undefined && observer.trackedInJob)
      observeAsOwn(observer, 'trackedInJob', { job: scope.job })
    const now = clock.now()
    let event: LazaretEvent
    try {
      event = eventOf(input, defaults, now)
    } catch (error) {
      return this.#refused(undefined, error as LazaretError, scope)
    }
    if (this.#closed !== undefined) return this.#refused(event, new ClosedError('dispatcher'), scope)
    const retryAt = door.refuses(event, now)
    if (retryAt instanceof Promise) return this.#waitAtDoor(retryAt, event, scope, options)
    if (retryAt !== undefined) return this.#limited(event, scope, now)
    return this.#letIn(event, scope, options, now)
  }

  /** The limit is shared, and has to be asked for. Whoever flushes waits for that too. */
  async #waitAtDoor(
    refuses: Promise<number | undefined>,
    event: LazaretEvent,
    scope: TrackingScope,
    options: TrackOptions | undefined,
  ): Promise<TrackResult> {
    const { promise: answered, resolve } = Promise.withResolvers<number | undefined>()
    const waiting: AtDoor = { answered, turnAway: () => resolve(undefined) }
    this.#atDoor.add(waiting)
    void refuses.then(resolve)
    const retryAt = await answered
    this.#atDoor.delete(waiting)
    const now = this.#policy.clock.now()
    if (this.#isEmpty) return this.#refused(event, new ClosedError('dispatcher'), scope)
    return retryAt === undefined ? this.#letIn(event, scope, options, now) : this.#limited(event, scope, now)
  }

  #letIn(
    event: LazaretEvent,
    scope: TrackingScope,
    options: TrackOptions | undefined,
    now: number,
  ): Promise<TrackResult> {
    const tracked = this.#tracked(event, scope)
    if (this.#parts.isCritical?.(event)) return this.#trackCritical(tracked, options, now)
    this.#offer(tracked, now)
    return options?.wait === 'accepted' ? tracked.accepted() : tracked.outcome()
  }

  resend(letter: DeadLetter): Promise<TrackResult> {
    if (this.#closed !== undefined) return Promise.reject(new ClosedError('dispatcher'))
    return resend(letter, this.#policy, this.#parts)
  }

  async flush(): Promise<void> {
    if (this.#atDoor.size > 0) await Promise.all(Array.from(this.#atDoor, ({ answered }) => answered))
    await Promise.all([...this.#lanes.map(lane => lane.flush()), this.#parts.letters.flush()])
  }

  health(): DispatcherHealth {
    const sinks = this.#lanes.map(lane => [lane.name, lane.report()] as const)
    const { letters, faults } = this.#parts
    return dispatcherHealth(Object.fromEntries(sinks), letters.held, faults.health())
  }

  breaker(sink: string): Breaker | undefined {
    return this.#parts.lanes.get(sink)?.breaker
  }

  close({ graceMs = this.#policy.graceMs }: { readonly graceMs?: number | undefined } = {}): Promise<void> {
    this.#closed ??= inOwnContext(() => this.#shutDown(graceMs))
    return this.#closed
  }

  /** In an order that lets each part still use the ones behind it, and each for a bounded time. */
  async #shutDown(graceMs: number): Promise<void> {
    const { clock } = this.#policy
    const { journal, checker, letters, box, resources } = this.#parts
    journal?.stop()
    await within(clock, graceMs, this.flush())
    checker?.close()
    const reason = new ClosedError('dispatcher')
    this.#isEmpty = true
    for (const { turnAway } of this.#atDoor) turnAway()
    const leftovers = new Leftovers(journal)
    const abandoned = Promise.all(this.#lanes.map(lane => lane.abandon(reason, leftovers)))
    // A journal that hangs is given up on in this time, and then there are letters to be saved.
    await within(clock, journal === undefined ? CLOSE_LIMIT_MS : 2 * CLOSE_LIMIT_MS, abandoned)
    await letters.close(CLOSE_LIMIT_MS)
    await within(clock, CLOSE_LIMIT_MS, Promise.all([journal?.settled(), box.close()]))
    await within(clock, CLOSE_LIMIT_MS, Promise.allSettled(resources.map(release)))
  }

  #tracked(event: LazaretEvent, scope: TrackingScope): Tracked {
    return new Tracked(this.#parts.desk, event, eventBytes(event), this.#names, scope)
  }

  #offer(tracked: Tracked, now: number): void {
    for (const lane of this.#lanes) lane.offer(tracked, now)
  }

  /** Those that lack an event. If none of them is there any more, all take it: twice is better than not at all. */
  #lanesOf(sinks: readonly string[] | undefined): readonly Lane[] {
    const lanes = sinks === undefined ? this.#lanes : this.#lanes.filter(({ name }) => sinks.includes(name))
    return lanes.length === 0 ? this.#lanes : lanes
  }

  /** Durable before the caller hears of it: in the journal, or, if that fails, because its outcome is. */
  #trackCritical(tracked: Tracked, options: TrackOptions | undefined, now: number): Promise<TrackResult> {
    const isInJournal = this.#parts.journal?.append(tracked)
    this.#offer(tracked, now)
    if (isInJournal === undefined || options?.wait !== 'accepted') return tracked.outcome()
    return Promise.all([tracked.accepted(), isInJournal]).then(([result, isDurable]) =>
      isDurable ? result : tracked.outcome(),
    )
  }

  /** The limit is the dispatcher's own wish and no failure, so nothing is thrown unless the event is in danger. */
  async #limited(event: LazaretEvent, scope: TrackingScope, now: number): Promise<TrackResult> {
    const { observer } = this.#policy
    const { desk, door } = this.#parts
    const outcome = await desk.save({ event, scope, replay: 0 }, EVERY_SINK, door.giveUp(now), false)
    const became = outcome === 'dead_lettered' ? 'saved' : outcome
    if (observer.eventLimited) observeAsOwn(observer, 'eventLimited', { type: event.type, became })
    const result = this.#everywhere(event, { outcome, reason: 'rate_limited' })
    if (outcome !== 'unsaved') return result
    const error = new TrackingError(result)
    if (scope.onFailure === 'throw') throw error
    desk.swallowed(scope, error, { outcome, reason: 'rate_limited' })
    return { ...result, swallowed: error }
  }

  /** What never came as far as the door: no event, or too late. */
  async #refused(
    event: LazaretEvent | undefined,
    error: LazaretError,
    scope: TrackingScope,
  ): Promise<TrackResult> {
    if (scope.onFailure === 'throw') throw error
    const { desk } = this.#parts
    let refusal: SinkOutcome = { outcome: 'dropped', reason: 'schema' }
    if (event !== undefined) {
      const giveUp = { reason: 'shutdown', thrown: error } as const
      const inJob = scope.job !== undefined
      refusal = {
        outcome: await desk.save({ event, scope, replay: 0 }, EVERY_SINK, giveUp, inJob),
        reason: 'shutdown',
      }
    }
    desk.swallowed(scope, error, refusal)
    return { ...this.#everywhere(event, refusal), swallowed: error }
  }

  #everywhere(event: LazaretEvent | undefined, outcome: SinkOutcome): TrackResult {
    return { event, sinks: sameForAll(this.#names, outcome) }
  }
}

function scopeFor(options: TrackOptions | undefined): TrackingScope {
  const scope = trackingScope()
  const onFailure = options?.onFailure
  return onFailure === undefined || onFailure === scope.onFailure ? scope : { job: scope.job, onFailure }
}
