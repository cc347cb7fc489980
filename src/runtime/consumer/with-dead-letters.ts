import { AsyncLocalStorage } from 'node:async_hooks'
import process from 'node:process'
import type { Origin } from '../../core/dead-letter/letter.ts'
import type { LazaretEvent } from '../../core/event/event.ts'
import { MAX_ID_BYTES } from '../../core/event/limits.ts'
import { createIdSource } from '../../core/event/uuid.ts'
import type { Delivery } from '../../ports/broker.ts'
import { quietly, withTrace } from '../../ports/following.ts'
import { systemClock, systemRandom } from '../../ports/system-clock.ts'
import type { Tracing } from '../../ports/tracing.ts'
import type { Breaker } from '../breaker.ts'
import { createConsumer } from './consumer.ts'
import type { ConsumerOptions } from './consumer-options.ts'
import { inTrace } from './handler-context.ts'
import { InlineBroker, type InlineCall } from './inline-broker.ts'

/** What of another client's message becomes an event. What is left out is made up. */
export interface MessageFacts {
  /** Say it if there is one: without an id, a message that comes again is a new letter. */
  readonly id?: string | undefined
  readonly type?: string | undefined
  readonly key?: string | undefined
  readonly idempotencyKey?: string | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Default: the first argument. */
  readonly payload?: unknown
  readonly occurredAt?: number | undefined
  readonly origin?: Origin | undefined
  /** How often the client has delivered it before, if it tells. Above 0 the client retries too. */
  readonly redelivered?: number | undefined
}

type Shared = Omit<
  ConsumerOptions,
  'broker' | 'channel' | 'handle' | 'ordering' | 'prefetch' | 'inProcessWaitMs'
>

export interface WithDeadLettersOptions<A extends unknown[]> extends Shared {
  /** Where the messages come from: the channel of its letters. */
  readonly source: string
  /** Tells what a message is. */
  readonly describe?: ((...args: A) => MessageFacts) | undefined
}

export interface WrappedHandler<A extends unknown[], R> {
  /** Resolves when the message is finished with: handled, or safe in a dead letter. Rejects when it must come again. */
  (...args: A): Promise<R | undefined>
  close(): Promise<void>
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
  handler: (...args: A) => R | PromiseLike<R>,
  { source, describe = () => ({}), ...options }: WithDeadLettersOptions<A>,
): WrappedHandler<A, R> {
  const broker = new InlineBroker()
  const clock = options.clock ?? systemClock
  const newId = createIdSource(options.random ?? systemRandom)
  const consumer = createConsumer({
    concurrency: AS_MANY_AS_THE_CLIENT_HANDS_OVER,
    name: handler.name === '' ? source : handler.name,
    ...options,
    broker,
    channel: source,
    handle: async (event, context) => {
      const call = broker.callOf(event)!
      // In the caller's async context, and there in the attempt's.
      call.result = await call.inContext(() => inTrace(context, () => handler(...(call.args as A))))
    },
  })
  let warned = false

  async function call(...args: A): Promise<R | undefined> {
    await consumer.start()
    const facts = traced(describe(...args), options.tracing)
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
  return Object.assign(call, { close: () => consumer.close(), breaker: consumer.breaker })
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
