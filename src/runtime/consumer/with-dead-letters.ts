import { AsyncLocalStorage } from 'node:async_hooks'
import process from 'node:process'
import type { LazaretEvent } from '../../core/event/event.ts'
import { MAX_ID_BYTES } from '../../core/event/limits.ts'
import { createIdSource } from '../../core/event/uuid.ts'
import type { Delivery } from '../../ports/broker.ts'
import { systemClock, systemRandom } from '../../ports/clock.ts'
import { quietly, type Tracing, withTrace } from '../../ports/tracing.ts'
import type { Breaker } from '../breaker.ts'
import { guardRandom } from '../user-functions/guards.ts'
import { safeObserver } from '../user-functions/safe-observer.ts'
import { UserFaults } from '../user-functions/user-faults.ts'
import { consumerThatUses } from './consumer.ts'
import type { ConsumerOptions } from './consumer-options.ts'
import { type HandlerContext, inTrace } from './handler-context.ts'
import type { ConsumerHealth } from './health.ts'
import { InlineBroker, type InlineCall } from './inline-broker.ts'
import { factsOf, type MessageFacts } from './message-facts.ts'

type Shared = Omit<
  ConsumerOptions,
  'broker' | 'channel' | 'handle' | 'ordering' | 'prefetch' | 'inProcessWaitMs'
>

export interface WithDeadLettersOptions<A extends unknown[]> extends Shared {
  /** Where the messages come from: the channel of its letters. */
  readonly source: string
  /** Adds the HandlerContext behind the handler's own arguments, with the signal that aborts when the attempt's time is over. */
  readonly passContext?: boolean | undefined
  /** Tells what a message is. */
  readonly describe?: ((...args: A) => MessageFacts) | undefined
}

export interface WrappedHandler<A extends unknown[], R> {
  /** Resolves when the message is finished with: handled, or safe in a dead letter. Rejects when it must come again. */
  (...args: A): Promise<R | undefined>
  close(): Promise<void>
  health(): ConsumerHealth
  readonly breaker: Breaker | undefined
}

/** The client decides how many run at once. */
const AS_MANY_AS_THE_CLIENT_HANDS_OVER = 100_000

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
  { source, describe = () => ({}), passContext = false, ...options }: WithDeadLettersOptions<A>,
): WrappedHandler<A, R> {
  const broker = new InlineBroker()
  const clock = options.clock ?? systemClock
  const { random = systemRandom } = options
  const observer = safeObserver(options.observer ?? {})
  const name = options.name ?? (handler.name === '' ? source : handler.name)
  const faults = new UserFaults({ name, clock, observer })
  const wrapping: ConsumerOptions = {
    concurrency: AS_MANY_AS_THE_CLIENT_HANDS_OVER,
    ...options,
    name,
    broker,
    channel: source,
    handle: async (event, context) => {
      const call = broker.callOf(event)!
      // In the caller's async context, and there in the attempt's.
      call.result = await call.inContext(() =>
        inTrace(context, () => handler(...((passContext ? [...call.args, context] : call.args) as A))),
      )
    },
  }
  const consumer = consumerThatUses([], wrapping, faults)
  // Drawn by the user's function only if that works: two processes must not give the same id to two messages.
  const newId = createIdSource(guardRandom(random, faults, systemRandom))
  let warned = false

  async function call(...args: A): Promise<R | undefined> {
    await consumer.start()
    const facts = traced(factsOf(describe, args, faults), options.tracing)
    if (!warned && (facts.redelivered ?? 0) > 0 && (options.retry?.attempts ?? 2) > 1) {
      warned = true
      warnOfDoubleRetries(source)
    }
    const delivery = toDelivery(source, facts, args[0], clock.now(), newId)
    return new Promise((resolve, reject) => {
      const call: InlineCall = {
        args,
        inContext: AsyncLocalStorage.snapshot(),
        result: undefined,
        resolve: resolve as (result: unknown) => void,
        reject,
      }
      broker.handOver(delivery, call)
    })
  }
  return Object.assign(call, {
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
function traced(facts: MessageFacts, tracing: Tracing | undefined): MessageFacts {
  if (tracing === undefined) return facts
  const context = quietly(() => tracing.context())
  return { ...facts, headers: withTrace(facts.headers, context) }
}

function toDelivery(
  channel: string,
  facts: MessageFacts,
  message: unknown,
  now: number,
  newId: (now: number) => string,
): Delivery {
  const id = facts.id === undefined ? newId(now) : facts.id.slice(0, MAX_ID_BYTES)
  const event: LazaretEvent = {
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
    payload: 'payload' in facts ? facts.payload : (message ?? null),
  }
  return { channel, content: event, started: 0, ended: 0, history: [], origin: facts.origin ?? {} }
}

function warnOfDoubleRetries(source: string): void {
  process.emitWarning(
    `the client of '${source}' delivers failed messages again, and withDeadLetters retries them too; ` +
      'switch one of them off: retry: { attempts: 1 } here, or the retries of the client',
    { code: 'LAZARET_DOUBLE_RETRIES' },
  )
}
