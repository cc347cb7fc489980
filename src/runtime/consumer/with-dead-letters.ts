import { AsyncLocalStorage } from 'node:async_hooks'
import process from 'node:process'
import type { Origin } from '../../core/dead-letter/letter.ts'
import { channelRule } from '../../core/event/channel.ts'
import { copyOfPayload } from '../../core/event/copy.ts'
import type { LazaretEvent } from '../../core/event/event.ts'
import { MAX_ID_BYTES } from '../../core/event/limits.ts'
import { isPlainObject } from '../../core/event/plain.ts'
import { createIdSource } from '../../core/event/uuid.ts'
import { resolveOptions } from '../../core/options/resolve.ts'
import { callable, flag, withDefault } from '../../core/options/rules.ts'
import { unusable } from '../../core/options/unusable.ts'
import { isPromiseLike } from '../../core/promise-like.ts'
import type { Broker, BrokerCapabilities, Delivery, Settlement, Subscription } from '../../ports/broker.ts'
import { systemClock, systemRandom } from '../../ports/clock.ts'
import { ignoreErrors, type Tracing, withTrace } from '../../ports/tracing.ts'
import type { Breaker } from '../breaker.ts'
import type { RunOptions } from '../resilient/resilient.ts'
import { guardRandom } from '../user-functions/guards.ts'
import { safeObserver } from '../user-functions/observer-faults.ts'
import { UserFaults } from '../user-functions/user-faults.ts'
import { consumerThatUses } from './consumer.ts'
import { type ConsumerOptions, consumerRules } from './consumer-options.ts'
import { type HandlerContext, inTrace } from './handler-context.ts'
import type { ConsumerHealth } from './health.ts'
import type { WithdrawableDelivery } from './work.ts'

type Shared = Omit<
  ConsumerOptions,
  'broker' | 'channel' | 'handle' | 'ordering' | 'prefetch' | 'inProcessWaitMs'
>

/** Options of `withDeadLetters()`. */
export interface WithDeadLettersOptions<A extends unknown[]> extends Shared {
  /** Where the messages come from: the channel of its letters. */
  readonly source: string
  /**
   * Adds the HandlerContext after the handler's own arguments [false]. Its signal aborts when the time of the attempt
   * is over, or when the caller's signal aborts.
   */
  readonly passContext?: boolean | undefined
  /** Tells the type, key, headers and other facts of a message [none are known]. */
  readonly describe?: ((...args: A) => MessageDescription) | undefined
}

/** A handler that `withDeadLetters()` wrapped. */
export interface WrappedHandler<A extends unknown[], R> {
  /** Resolves when the message is finished with: handled, or safe in a dead letter. Rejects when it must come again. */
  (...args: A): Promise<R | undefined>
  /**
   * Handles a message like a plain call, with a signal of the caller. When the signal aborts, so does the signal of the
   * handler. The call rejects with the reason once the handler has ended, at most `lateMs` later, and nothing counts as
   * failed: the client must deliver the message again. A handler that succeeds all the same resolves the call.
   */
  run(options: RunOptions, ...args: A): Promise<R | undefined>
  close(): Promise<void>
  health(): ConsumerHealth
  readonly breaker: Breaker | undefined
}

const {
  broker: _broker,
  channel: _channel,
  handle: _handle,
  ordering: _ordering,
  prefetch: _prefetch,
  inProcessWaitMs: _inProcessWaitMs,
  ...sharedRules
} = consumerRules

const rules = {
  ...sharedRules,
  source: channelRule,
  passContext: withDefault(flag(), false),
  describe: withDefault(callable(), () => ({})),
}

/** The client decides how many run at once. */
const UNLIMITED_CONCURRENCY = 100_000

/**
 * A consumer's guarantees round a handler of any other client. It acknowledges by resolving, so the client must
 * acknowledge after the handler and keep what it rejects. Retries happen in process: switch the client's own off, or
 * each of its deliveries is tried as often as the policy says. A schema checks the payload; the handler gets its
 * arguments as the client gave them.
 */
export function withDeadLetters<A extends unknown[], R>(
  handler: (...args: [...args: A, context: HandlerContext]) => R | PromiseLike<R>,
  options: WithDeadLettersOptions<A> & { readonly passContext: true },
): WrappedHandler<A, R>
export function withDeadLetters<A extends unknown[], R>(
  handler: (...args: A) => R | PromiseLike<R>,
  options: WithDeadLettersOptions<A>,
): WrappedHandler<A, R>
export function withDeadLetters<A extends unknown[], R>(
  handler: (...args: A) => R | PromiseLike<R>,
  given: WithDeadLettersOptions<A>,
): WrappedHandler<A, R> {
  resolveOptions('withDeadLetters', rules, given)
  const { source, describe = () => ({}), passContext = false, ...options } = given
  const broker = new InlineBroker()
  const clock = options.clock ?? systemClock
  const { random = systemRandom } = options
  const observer = safeObserver(options.observer ?? {})
  const name = options.name ?? (handler.name === '' ? source : handler.name)
  const faults = new UserFaults({ name, clock, observer })
  const wrapping: ConsumerOptions = {
    concurrency: UNLIMITED_CONCURRENCY,
    ...options,
    name,
    broker,
    channel: source,
    handle: async (event, context) => {
      const call = broker.callOf(event)!
      call.isRunning = true
      try {
        // In the caller's async context, and there in the attempt's.
        call.result = await call.inContext(() =>
          inTrace(context, () => handler(...((passContext ? [...call.args, context] : call.args) as A))),
        )
      } finally {
        call.isRunning = false
      }
    },
  }
  // The handler gets the arguments of the client. The call is found by the headers, so these are the same.
  const inputOf = (event: LazaretEvent) =>
    options.schema === undefined ? event : { ...event, payload: copyOfPayload(event.payload) }
  const consumer = consumerThatUses([], wrapping, { faults, inputOf })
  // Drawn by the user's function only if that works: two processes must not give the same id to two messages.
  const newId = createIdSource(guardRandom(random, faults, systemRandom))
  let warned = false

  async function run({ signal }: RunOptions, ...args: A): Promise<R | undefined> {
    await consumer.start()
    signal?.throwIfAborted()
    const asEvent = () => eventOf(source, { id: 'unknown' }, args[0], clock.now(), newId)
    const facts = traced(factsOf(describe, args, faults, asEvent), options.tracing)
    if (!warned && (facts.redelivered ?? 0) > 0 && (options.retry?.attempts ?? 2) > 1) {
      warned = true
      warnOfDoubleRetries(source)
    }
    const delivery = { ...toDelivery(source, facts, args[0], clock.now(), newId), signal }
    return new Promise((resolve, reject) => {
      const call: InlineCall = {
        args,
        inContext: AsyncLocalStorage.snapshot(),
        result: undefined,
        isRunning: false,
        resolve: resolve as (result: unknown) => void,
        reject,
      }
      broker.handOver(delivery, call)
    })
  }
  const call = (...args: A) => run({}, ...args)
  return Object.assign(call, {
    run,
    close: async () => {
      await consumer.close()
      // Made here, so it is closed in any case: calls that still wait end.
      await broker.close()
    },
    health: () => consumer.health(),
    breaker: consumer.breaker,
  })
}

/** Other clients leave the trace of a message in the async context, if they know of it at all. */
function traced(facts: MessageDescription, tracing: Tracing | undefined): MessageDescription {
  if (tracing === undefined) return facts
  const context = ignoreErrors(() => tracing.context())
  return { ...facts, headers: withTrace(facts.headers, context) }
}

function toDelivery(
  channel: string,
  facts: MessageDescription,
  message: unknown,
  now: number,
  newId: (now: number) => string,
): Delivery {
  const event = eventOf(channel, facts, message, now, newId)
  return { channel, content: event, started: 0, ended: 0, history: [], origin: facts.origin ?? {} }
}

function eventOf(
  channel: string,
  facts: MessageDescription,
  message: unknown,
  now: number,
  newId: (now: number) => string,
): LazaretEvent {
  const id = facts.id === undefined ? newId(now) : facts.id.slice(0, MAX_ID_BYTES)
  return {
    v: 1,
    id,
    type: facts.type ?? 'message',
    channel,
    key: facts.key,
    idempotencyKey: facts.idempotencyKey ?? id,
    occurredAt: facts.occurredAt ?? now,
    expiresAt: undefined,
    source: undefined,
    // Its own even where the client shares one object among messages: the call is found by it.
    headers: { ...facts.headers },
    // A copy, because the handler may change its message.
    payload: copyOfPayload('payload' in facts ? facts.payload : (message ?? null)),
  }
}

function warnOfDoubleRetries(source: string): void {
  process.emitWarning(
    `the client of '${source}' delivers failed messages again, and withDeadLetters retries them too; ` +
      'switch one of them off: retry: { attempts: 1 } here, or the retries of the client',
    { code: 'LAZARET_DOUBLE_RETRIES' },
  )
}

/** How a call that was handed over as a delivery ends: with the handler's own result, or not at all yet. */
interface InlineCall {
  readonly args: readonly unknown[]
  /** Runs the handler in the async context of the caller, at every attempt. */
  readonly inContext: <A extends unknown[], R>(work: (...args: A) => R, ...args: A) => R
  result: unknown
  /** The handler runs, in an attempt or after its timeout. */
  isRunning: boolean
  /** Stops listening to the caller's signal. */
  unfollow?: () => void
  resolve(result: unknown): void
  reject(error: unknown): void
}

/**
 * The broker of `withDeadLetters`: every call of the wrapped handler is a delivery, and settling it ends the call. The
 * real broker is the other client's, so this one keeps nothing: for a returned delivery it throws to that client, which
 * delivers the message again.
 */
class InlineBroker implements Broker, Subscription {
  readonly name = 'inline'
  readonly capabilities: BrokerCapabilities = {
    delay: false,
    keyOrder: false,
    deadLetters: false,
    durable: false,
  }
  readonly calls = new Map<WithdrawableDelivery, InlineCall>()
  /** By the event's headers: a schema makes another event of it, with another payload and the same headers. */
  readonly #byHeaders = new WeakMap<LazaretEvent['headers'], InlineCall>()
  #deliver: ((delivery: Delivery) => void) | undefined

  handOver(delivery: WithdrawableDelivery, call: InlineCall): void {
    this.calls.set(delivery, call)
    // Waits end at once. A running handler ends first, so that the next delivery of the message does not overlap it.
    const onAbort = () => {
      if (!call.isRunning) this.#reject(delivery)
    }
    delivery.signal?.addEventListener('abort', onAbort)
    call.unfollow = () => delivery.signal?.removeEventListener('abort', onAbort)
    this.#byHeaders.set((delivery.content as LazaretEvent).headers, call)
    this.#deliver?.(delivery)
  }

  callOf(event: LazaretEvent): InlineCall | undefined {
    return this.#byHeaders.get(event.headers)
  }

  settle(delivery: WithdrawableDelivery, settlement: Settlement): void {
    if (settlement.outcome === 'done' || settlement.outcome === 'dead') {
      const call = this.#take(delivery)
      call?.resolve(call.result)
    } else this.#reject(delivery)
  }

  #reject(delivery: WithdrawableDelivery): void {
    const { signal, channel } = delivery
    this.#take(delivery)?.reject(signal?.aborted ? signal.reason : new RedeliveryNeeded(channel))
  }

  /** The call of a delivery, which ends now; undefined if it has ended already. */
  #take(delivery: WithdrawableDelivery): InlineCall | undefined {
    const call = this.calls.get(delivery)
    this.calls.delete(delivery)
    call?.unfollow?.()
    return call
  }

  async subscribe(_options: unknown, deliver: (delivery: Delivery) => void): Promise<Subscription> {
    this.#deliver = deliver
    return this
  }

  async close(): Promise<void> {
    for (const delivery of [...this.calls.keys()]) this.#reject(delivery)
  }

  async publish(): Promise<void> {
    throw new Error('withDeadLetters wraps a handler; publish with the client it belongs to')
  }

  begin(): void {}
  pause(): void {}
  resume(): void {}
  async unblockKey(): Promise<void> {}
}

/** Thrown to the client, so that it keeps the message. */
class RedeliveryNeeded extends Error {
  override readonly name = 'GivenBack'

  constructor(source: string) {
    super(`the handler of '${source}' did not handle the message; the client must deliver it again`)
  }
}

/** The parts of another client's message that become an event. Missing parts get defaults. */
export interface MessageDescription {
  /**
   * The id of the message [a new one]. Give it if there is one: without an id, a message that comes again is a new
   * letter.
   */
  readonly id?: string | undefined
  /** The type of the event, such as `order.placed` ['message']. */
  readonly type?: string | undefined
  /** The ordering key of the event [none]. */
  readonly key?: string | undefined
  /** The key under which the ledger remembers the event [the id]. */
  readonly idempotencyKey?: string | undefined
  /** The headers of the event [none]. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** The payload of the event [the first argument]. */
  readonly payload?: unknown
  /** When the event happened, in epoch milliseconds [now]. */
  readonly occurredAt?: number | undefined
  /** Where the message came from: broker, queue, topic [unknown]. The dead letter keeps it. */
  readonly origin?: Origin | undefined
  /** How often the client has delivered the message before [unknown]. Above 0 the client retries too. */
  readonly redelivered?: number | undefined
}

/**
 * Asks the function for the parts of a message. Invalid parts of the answer count as left out, and so does the whole
 * answer when the function throws: the message is still handled.
 */
function factsOf<A extends unknown[]>(
  describe: (...args: A) => MessageDescription,
  args: A,
  faults: UserFaults,
  asEvent: () => LazaretEvent,
): MessageDescription {
  try {
    const facts: unknown = describe(...args)
    if (typeof facts !== 'object' || facts === null || isPromiseLike(facts))
      throw unusable('describe', facts, 'return an object such as { id, type, payload }')
    const wrong = Object.entries(CHECKS)
      .filter(([name, isRight]) => !isRight((facts as MessageDescription)[name as keyof MessageDescription]))
      .map(([name]) => name)
    if (wrong.length === 0) return facts
    faults.report('describe', new TypeError(`describe returned an unusable ${wrong.join(', ')}`))
    return Object.fromEntries(Object.entries(facts).filter(([name]) => !wrong.includes(name)))
  } catch (error) {
    faults.report('describe', error, { event: asEvent() })
    return {}
  }
}

function isText(value: unknown): boolean {
  return value === undefined || (typeof value === 'string' && value !== '')
}

function isWhole(value: unknown): boolean {
  return value === undefined || (Number.isSafeInteger(value) && (value as number) >= 0)
}

function isRecord(value: unknown): boolean {
  return value === undefined || isPlainObject(value)
}

/** The payload may be anything. */
const CHECKS: Readonly<Record<Exclude<keyof MessageDescription, 'payload'>, (value: unknown) => boolean>> = {
  id: isText,
  type: isText,
  key: isText,
  idempotencyKey: isText,
  headers: isRecord,
  occurredAt: isWhole,
  origin: isRecord,
  redelivered: isWhole,
}
