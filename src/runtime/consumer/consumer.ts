import { AsyncLocalStorage } from 'node:async_hooks'
import type { LazaretEvent } from '../../core/event/event.ts'
import type { Delivery, QueueDepth, Subscription } from '../../ports/broker.ts'
import { type Cancel, settlesWithin } from '../../ports/clock.ts'
import type { StandardSchema } from '../../ports/schema.ts'
import type { Breaker } from '../breaker.ts'
import { ClosedError } from '../closed-error.ts'
import { LetterSaver } from '../letter-saver.ts'
import { type Closeable, release, retain } from '../share.ts'
import type { PendingTurn } from '../shared-limit/fleet-turns.ts'
import {
  type ConsumerInternals,
  type ConsumerOptions,
  type ConsumerPolicy,
  resolveConsumer,
} from './consumer-options.ts'
import { FORGET, type Next } from './delivery-settler.ts'
import { Handling, ShuttingDown } from './handling.ts'
import { ConsumerActivity, type ConsumerHealth } from './health.ts'
import { LedgerProbe, Pauses, Stalls } from './pauses.ts'
import { ConsumerReload } from './reload.ts'
import { StoreRetries } from './store-retries.ts'
import { Work } from './work.ts'

/** After the grace time: how long brokers and stores may take to close. */
const CLOSE_LIMIT_MS = 5_000

/** Takes events from a channel and hands them to a handler, with retries, a breaker and dead letters. */
export interface Consumer {
  /** Resolves when deliveries can arrive. */
  start(): Promise<void>
  /** Stops pulling and starts no further attempt until `resume`. */
  pause(): void
  resume(): void
  /** Stops taking deliveries, lets attempts finish within the grace time, and releases the others. Closing twice is safe. */
  close(options?: { readonly graceMs?: number | undefined }): Promise<void>
  health(): ConsumerHealth
  /** The messages in the broker's own dead-letter queues; empty if it has none. Rejects if the broker is unreachable. */
  deadLetterDepths(): Promise<readonly QueueDepth[]>
  /** The events that its handler has not finished; undefined if the broker cannot count them. Rejects if it is unreachable. */
  lag(): Promise<number | undefined>
  /** Publishes events to the broker that it consumes from. The fleet sends replays this way. */
  publish(events: readonly LazaretEvent[]): Promise<void>
  /** Whether `close` was called. Such a consumer takes no more deliveries. */
  readonly isClosed: boolean
  readonly brokerName: string
  readonly breaker: Breaker | undefined
  readonly schema: StandardSchema | undefined
}

/**
 * A consumer for one channel. Nothing is started before `start`. `close` closes what it is given (broker, stores, ledger) if no
 * other consumer or dispatcher uses it, unless `leaveOpen` says otherwise.
 */
export function createConsumer<P = unknown>(options: ConsumerOptions<P>): Consumer {
  return consumerThatUses([], options)
}

/** Creates a consumer for relays and wrapped handlers, with more internal options. */
export function consumerThatUses<P>(
  more: readonly Closeable[],
  options: ConsumerOptions<P>,
  internals: ConsumerInternals = {},
): Consumer {
  return new ChannelConsumer(options as ConsumerOptions, internals, more)
}

/**
 * idle ─start▶ starting ─▶ running ─close▶ closing ─▶ closed. Deliveries wait in `#waiting` until an attempt can
 * start within `concurrency`; `#pump` runs whenever that may have changed.
 */
class ChannelConsumer implements Consumer {
  readonly breaker: Breaker | undefined
  readonly schema: StandardSchema | undefined
  readonly brokerName: string
  readonly #policy: ConsumerPolicy
  readonly #more: readonly Closeable[]
  readonly #pauses: Pauses
  readonly #stalls: Stalls
  readonly #activity: ConsumerActivity
  readonly #saver: LetterSaver | undefined
  readonly #waiting: Work[] = []
  /** Waits in process: short retries, and retries that wait for their turn. */
  readonly #asleep = new Map<Work, Cancel>()
  readonly #closing = new AbortController()
  /** A delivery arrives in the async context of its connection or publisher: a handler must not see that context. */
  readonly #inOwnContext = AsyncLocalStorage.snapshot()
  #active = 0
  #idle: (() => void) | undefined
  #starting: Promise<void> | undefined
  #closed: Promise<void> | undefined
  /** The consumer closed before `subscribe` resolved, so a subscription that still arrives is closed at once. */
  #isAbandoned = false
  #subscription: Subscription | undefined
  #handling: Handling | undefined
  #cancelWake: Cancel | undefined
  readonly #ledgerProbe: LedgerProbe
  readonly #storeRetries: StoreRetries
  /** The source of the options does not keep it alive, the consumer does. */
  readonly #reload: ConsumerReload
  #unwatch: (() => void) | undefined

  constructor(options: ConsumerOptions, internals: ConsumerInternals, more: readonly Closeable[]) {
    const policy = resolveConsumer(options, internals)
    this.#policy = policy
    this.#more = more
    this.breaker = policy.breaker
    this.schema = policy.schema
    this.brokerName = policy.broker.name
    this.#pauses = new Pauses(policy)
    this.#ledgerProbe = new LedgerProbe(policy.clock, () => this.#probeLedger())
    this.#stalls = new Stalls(policy, this.#pauses, () => this.#pump())
    this.#activity = new ConsumerActivity(policy)
    const { deadLetters, spill, observer, clock } = policy
    this.#saver = deadLetters && new LetterSaver({ deadLetters, spill, observer, clock })
    this.#storeRetries = new StoreRetries(clock, this.#pauses, this.#closing.signal, () => this.#pump())
    this.#reload = new ConsumerReload(policy, options, internals, () => this.#pump())
  }

  get isClosed(): boolean {
    return this.#closed !== undefined
  }

  start(): Promise<void> {
    if (this.#closed !== undefined) return Promise.reject(new ClosedError(`consumer '${this.#policy.name}'`))
    this.#starting ??= this.#subscribe().catch((error: unknown) => {
      this.#starting = undefined
      throw error
    })
    return this.#starting
  }

  async #subscribe(): Promise<void> {
    const { broker, channel, name: handler, prefetch, ordering } = this.#policy
    await this.#saver?.start()
    const early: Delivery[] = []
    const take = (delivery: Delivery) => this.#take(delivery)
    // Deliveries may arrive before `subscribe` has resolved.
    const receive = (delivery: Delivery) =>
      this.#handling === undefined ? void early.push(delivery) : this.#inOwnContext(take, delivery)
    const how = { channel, handler, prefetch, ordering }
    const subscription = await broker.subscribe(how, receive, this.#stalls.hear)
    if (this.#isAbandoned) {
      await subscription.close()
      return
    }
    for (const resource of this.#resources()) retain(resource)
    this.#policy.retryLimit?.join()
    this.#subscription = subscription
    this.#handling = new Handling(this.#policy, {
      subscription,
      saver: this.#saver,
      closing: this.#closing.signal,
      persist: task => this.#storeRetries.persist(task),
      processed: (outcome, now) => this.#activity.processed(outcome, now),
      ledgerAnswered: () => this.#ledgerAnswered(),
      settlementFailed: error => this.#activity.settlementFailed(error),
    })
    this.#unwatch = this.breaker?.watch(() => this.#lookAgain())
    this.#pauses.attach(subscription)
    for (const delivery of early) this.#inOwnContext(take, delivery)
  }

  pause(): void {
    this.#pauses.add('manual')
  }

  resume(): void {
    this.#pauses.remove('manual')
    this.#pump()
  }

  health(): ConsumerHealth {
    const retrying = this.#asleep.size
    const waiting = this.#waiting.length + retrying
    const late = this.#handling?.failed.lateCount ?? 0
    const counts = { active: this.#active, waiting, retrying, late, paused: this.#pauses.reasons }
    const spill = this.#saver?.spillHealth
    return { ...this.#activity.report(counts), ...this.#stalls.all, ...(spill !== undefined && { spill }) }
  }

  async deadLetterDepths(): Promise<readonly QueueDepth[]> {
    return (await this.#policy.broker.deadLetterDepths?.(this.#policy.channel, this.#policy.name)) ?? []
  }

  publish(events: readonly LazaretEvent[]): Promise<void> {
    return this.#policy.broker.publish(events)
  }

  async lag(): Promise<number | undefined> {
    return await this.#policy.broker.depth?.(this.#policy.channel, this.#policy.name)
  }

  /** Deliveries that arrive while closing stay open. The subscription releases them when it closes. */
  #take(delivery: Delivery): void {
    if (this.#closed !== undefined) return
    this.#waiting.push(new Work(delivery))
    this.#pump()
  }

  #pump(): void {
    const { concurrency } = this.#policy
    while (this.#active < concurrency && this.#waiting.length > 0 && !this.#pauses.any) {
      const work = this.#waiting.shift()!
      this.#enter(work)
    }
  }

  /** Takes up a place among the attempts. */
  #enter(work: Work, step?: (handling: Handling) => Next | Promise<Next>): void {
    const handling = this.#handling!
    this.#active++
    try {
      this.#follow(work, step === undefined ? handling.handle(work) : step(handling))
    } catch (error) {
      this.#giveBackBroken(work, error)
    }
  }

  #follow(work: Work, next: Next | Promise<Next>): void {
    if (!(next instanceof Promise)) this.#ended(work, next)
    else
      next.then(
        settled => this.#ended(work, settled),
        (error: unknown) => this.#giveBackBroken(work, error),
      )
  }

  #ended(work: Work, next: Next): void {
    this.#active--
    if (next.do === 'pause') {
      this.#waiting.unshift(work)
      // The consumer is closing, so the delivery is released with the others and needs no timer.
      if (this.#closed === undefined) this.#pauseForBreaker(next.retryAt)
    } else if (next.do === 'ask-ledger-later') {
      this.#waiting.unshift(work)
      this.#pauses.add('ledger')
    } else if (next.do === 'wait') this.#sleep(work, next.delayMs)
    else if (next.do === 'await-turn') this.#awaitTurn(work, next.turn)
    else if (next.do === 'await-run') this.#awaitRun(work, next)
    if (this.#closed !== undefined) this.#giveBackWaiting()
    else if (this.#pauses.has('ledger')) this.#ledgerProbe.schedule()
    else if (this.#pauses.has('breaker')) this.#lookAgain()
    else this.#pump()
    if (this.#active === 0) this.#idle?.()
  }

  #sleep(work: Work, delayMs: number): void {
    const cancel = this.#policy.clock.schedule(delayMs, () => this.#wake(work))
    this.#asleep.set(work, cancel)
  }

  #wake(work: Work): void {
    this.#asleep.delete(work)
    this.#waiting.unshift(work)
    this.#pump()
    // A turn is valid now only. Turns that were kept until an attempt can start would add up to a burst.
    if (this.#waiting[0] === work) work.hasTurn = false
  }

  /** The fleet decides on the turn. Until then the delivery does not count towards the concurrency. */
  #awaitTurn(work: Work, turn: PendingTurn): void {
    this.#asleep.set(work, () => turn.cancel())
    turn.whenDecided((decided, now) => {
      if (decided.action === 'go') {
        work.hasTurn = true
        this.#wake(work)
        return
      }
      this.#asleep.delete(work)
      this.#enter(work, handling => handling.limited(work, decided, now))
    })
  }

  /** Another run of the event is in progress. Until it ends the delivery does not count towards the concurrency. */
  #awaitRun(work: Work, { until }: Extract<Next, { readonly do: 'await-run' }>): void {
    const cancel = until(isOver => {
      if (isOver) {
        this.#wake(work)
        return
      }
      this.#asleep.delete(work)
      this.#enter(work, handling => handling.waitTimedOut(work))
    })
    this.#asleep.set(work, cancel)
  }

  /** Pausing protects the dependency: events that cannot be attempted stay in the broker. */
  #pauseForBreaker(retryAt: number | undefined): void {
    this.#pauses.add('breaker')
    this.#cancelWake?.()
    this.#cancelWake = undefined
    if (retryAt === undefined) return
    const { clock } = this.#policy
    this.#cancelWake = clock.schedule(Math.max(0, retryAt - clock.now()), () => this.#ask())
  }

  /** The breaker may admit attempts again, because a probe ended or a person changed it. */
  #lookAgain(): void {
    if (this.#pauses.has('breaker') && this.breaker?.wouldAdmit(this.#policy.clock.now())) this.#ask()
  }

  /** Resumes. If the breaker still refuses, because the clock was set back, the next delivery pauses again. */
  #ask(): void {
    this.#cancelWake?.()
    this.#cancelWake = undefined
    this.#pauses.remove('breaker')
    this.#pump()
  }

  /** While the ledger is unavailable, one delivery at a time probes it. */
  #probeLedger(): void {
    const isPausedOtherwise = this.#pauses.reasons.length > 1
    const work = isPausedOtherwise ? undefined : this.#waiting.shift()
    if (work !== undefined) this.#enter(work)
    else if (isPausedOtherwise || this.#asleep.size > 0) this.#ledgerProbe.schedule()
    // There is no delivery to probe with; the next one does it.
    else this.#ledgerAnswered()
  }

  #ledgerAnswered(): void {
    if (!this.#pauses.has('ledger')) return
    this.#ledgerProbe.stop()
    this.#pauses.remove('ledger')
    this.#pump()
  }

  /**
   * Something threw while the delivery was on its way to its settlement. Functions of the user are guarded, so it is a
   * mistake of our own or of an adapter. The delivery goes back to the broker: it must not keep its place.
   */
  #giveBackBroken(work: Work, error: unknown): void {
    this.#activity.settlementFailed(error)
    const end = (next: Next = FORGET) => this.#ended(work, next)
    this.#handling!.giveBackBroken(work).then(end, () => end())
  }

  close({ graceMs = this.#policy.graceMs }: { readonly graceMs?: number | undefined } = {}): Promise<void> {
    this.#closed ??= this.#shutDown(graceMs)
    return this.#closed
  }

  async #shutDown(graceMs: number): Promise<void> {
    this.#reload.close()
    const { clock, leaveOpen, retryLimit, isRetryLimitGiven } = this.#policy
    const limited = (work: Promise<unknown>) => settlesWithin(clock, CLOSE_LIMIT_MS, work)
    if (this.#starting !== undefined) await limited(this.#starting)
    const subscription = this.#subscription
    if (subscription === undefined) {
      this.#isAbandoned = true
      // The saver may have started to drain the spill before the subscription existed.
      await limited(Promise.resolve(this.#saver?.close()))
      return
    }
    this.#pauses.detach()
    this.#unwatch?.()
    this.#cancelWake?.()
    this.#ledgerProbe.stop()
    this.#giveBackWaiting()
    const ended = this.#allEnded().then(() => this.#handling?.failed.lateEnded())
    await settlesWithin(clock, graceMs, ended)
    this.#closing.abort(new ShuttingDown('the consumer is closing'))
    this.#handling?.abort(this.#closing.signal.reason)
    await limited(Promise.all([this.#allEnded(), this.#handling?.failed.lateSettled()]))
    this.#handling?.close()
    await limited(subscription.close())
    await limited(Promise.resolve(this.#saver?.close()))
    const released = this.#resources().map(resource => release(resource, leaveOpen))
    if (!isRetryLimitGiven) released.push(retryLimit?.close() ?? Promise.resolve())
    await limited(Promise.allSettled(released))
  }

  #allEnded(): Promise<void> {
    return new Promise(resolve => {
      if (this.#active === 0) resolve()
      else this.#idle = resolve
    })
  }

  #giveBackWaiting(): void {
    for (const [work, cancel] of this.#asleep) {
      cancel()
      this.#waiting.push(work)
    }
    this.#asleep.clear()
    for (const work of this.#waiting.splice(0)) {
      // The delivery counts as active until the broker has it back, so that `close` waits for that.
      this.#enter(work, handling => handling.giveBack(work))
    }
  }

  /** What the consumer was given. */
  #resources(): readonly Closeable[] {
    const { broker, deadLetters, spill, ledger, notifier, retryLimit, isRetryLimitGiven } = this.#policy
    const limiter = isRetryLimitGiven ? retryLimit : undefined
    const all = [broker, deadLetters, spill, ledger, notifier, limiter, ...this.#more]
    return all.filter(resource => resource !== undefined)
  }
}
