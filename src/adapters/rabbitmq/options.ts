import type { LazaretEvent } from '../../core/event/event.ts'
import { OptionsError } from '../../core/options/faults.ts'
import { type Relations, type Resolved, resolveOptions } from '../../core/options/resolve.ts'
import {
  custom,
  derived,
  having,
  integer,
  list,
  listener,
  milliseconds,
  oneOf,
  optional,
  type Rule,
  synchronous,
  text,
  withDefault,
} from '../../core/options/rules.ts'
import { type ClockAndRandomOptions, clockAndRandomRules } from '../../ports/clock.ts'
import type { AmqpClient } from './connection/amqp.ts'

/** The default of the option `retryStepsMs`. */
export const DEFAULT_RETRY_STEPS_MS: readonly number[] = Object.freeze([
  100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 60_000, 120_000, 300_000, 600_000, 1_800_000, 3_600_000,
])
/** The default of the option `connectTimeoutMs`. */
export const DEFAULT_CONNECT_TIMEOUT_MS = 30_000
/** The default of the option `confirmTimeoutMs`. */
export const DEFAULT_CONFIRM_TIMEOUT_MS = 10_000
/** The default of the option `heartbeatSeconds`. */
export const DEFAULT_HEARTBEAT_SECONDS = 10
/** The default of the option `reconnectBaseMs`. */
export const DEFAULT_RECONNECT_BASE_MS = 100
/** The default of the option `reconnectMaxMs`. */
export const DEFAULT_RECONNECT_MAX_MS = 15_000
/** The default of the option `deadLetterQueue`. */
export const DEFAULT_DEAD_LETTER_QUEUE = '{queue}.dlq'
/** The default of the option `deliveryLimit`. */
export const DEFAULT_DELIVERY_LIMIT = 1_000

/** The destination of a message: exchange and routing key. */
export interface Route {
  /** The name of the exchange. */
  readonly exchange: string
  /** The routing key of the message. */
  readonly routingKey: string
}

/** A change of the connections, for logs and alerts. */
export type ConnectionNews =
  | { readonly state: 'up'; readonly purpose: 'publishing' | 'consuming' }
  | { readonly state: 'down'; readonly purpose: 'publishing' | 'consuming'; readonly error: Error }
  | { readonly state: 'blocked'; readonly reason: string }
  | { readonly state: 'unblocked' }

/** Options of `rabbitmq()`. */
export interface RabbitmqOptions extends ClockAndRandomOptions {
  /** `amqp://` or `amqps://`, with user, password and vhost as RabbitMQ writes them. */
  readonly url: string
  /** Names the broker in origins and errors ['rabbitmq']. */
  readonly name?: string | undefined
  /** The type of declared queues [quorum]. */
  readonly queueType?: 'quorum' | 'classic' | undefined
  /**
   * The objects that the broker declares at start. `all`: everything. `auxiliary`: all but the queue itself, that is
   * dead-letter queues, retry steps and suspects. `none`: nothing, because `lazaret rabbitmq declare` has done it [all].
   */
  readonly declare?: 'all' | 'auxiliary' | 'none' | undefined
  /** Where an event is sent [exchange: its channel, routing key: its type]. Replays go to the queue that failed. */
  readonly route?: ((event: LazaretEvent) => Route) | undefined
  /** The waits with a retry queue of their own, in ms [14 steps from 100 to 3 600 000]. */
  readonly retryStepsMs?: readonly number[] | undefined
  /**
   * The name of the dead-letter queue; `{queue}` in it is the name of the queue ['{queue}.dlq']. The queues of categories and
   * of the quarantine begin with it: `{queue}.dlq.schema`.
   */
  readonly deadLetterQueue?: string | undefined
  /**
   * One dead-letter queue for each queue, or `by-category`: one for each category of failures, such as
   * `orders.dlq.transient` [one]. Poison goes to a quarantine queue in any case.
   */
  readonly deadLetterQueues?: 'one' | 'by-category' | undefined
  /** How long the server keeps the letters of dead-letter and quarantine queues, in ms [no limit]. */
  readonly deadLetterTtlMs?: number | undefined
  /** The number of messages in a queue. The server refuses to publish more; quorum queues only [no limit but the disk]. */
  readonly maxLength?: number | undefined
  /** The number of letters in a dead-letter queue. When it is full, consumers wait; no letter is dropped [no limit but the disk]. */
  readonly deadLetterMaxLength?: number | undefined
  /** Deliveries of one message before the server dead-letters it by itself; quorum queues only [1000]. */
  readonly deliveryLimit?: number | undefined
  /** How long a call waits for a connection, over all attempts to connect, in ms [30 000]. */
  readonly connectTimeoutMs?: number | undefined
  /** How long the server may take to confirm a published message, in ms [10 000]. */
  readonly confirmTimeoutMs?: number | undefined
  /** The interval of AMQP heartbeats, in seconds [10]. A `heartbeat` in the URL takes precedence. */
  readonly heartbeatSeconds?: number | undefined
  /**
   * The longest wait before the first attempt to reconnect, in ms [100]. The wait doubles with every failed attempt.
   */
  readonly reconnectBaseMs?: number | undefined
  /**
   * The longest wait before any attempt to reconnect, in ms [15 000]. At least half of a wait passes; the rest is
   * random.
   */
  readonly reconnectMaxMs?: number | undefined
  /** Receives the changes of the connections: up, down, blocked, unblocked [none]. Use it for logs and alerts. */
  readonly onConnection?: ((news: ConnectionNews) => void) | undefined
  /** The module amqplib [loaded by its name]. Give it when a bundler cannot find the module. */
  readonly client?: AmqpClient | undefined
}

const WEEK_MS = 604_800_000
const QUEUE = '{queue}'
/** A queue's name has at most 255 bytes, and the names of sub-queues are longer. */
const MAX_DEAD_LETTER_NAME = 150

const rules = {
  url: amqpUrl(),
  name: withDefault(text(), 'rabbitmq'),
  queueType: withDefault(oneOf('quorum', 'classic'), 'quorum'),
  declare: withDefault(oneOf('all', 'auxiliary', 'none'), 'all'),
  route: optional(synchronous<(event: LazaretEvent) => Route>('give a function from event to its route')),
  retryStepsMs: withDefault(
    derived(list(integer({ min: 10, max: WEEK_MS }), { minItems: 1, maxItems: 50 }), inOrder),
    DEFAULT_RETRY_STEPS_MS,
  ),
  deadLetterQueue: derived(withDefault(deadLetterName(), DEFAULT_DEAD_LETTER_QUEUE), deadLetterQueueOf),
  deadLetterQueues: withDefault(oneOf('one', 'by-category'), 'one'),
  deadLetterTtlMs: optional(integer({ min: 1_000 })),
  maxLength: optional(integer({ min: 1 })),
  deadLetterMaxLength: optional(integer({ min: 1 })),
  deliveryLimit: withDefault(integer({ min: 1, max: 1_000_000 }), DEFAULT_DELIVERY_LIMIT),
  connectTimeoutMs: withDefault(milliseconds({ min: 1 }), DEFAULT_CONNECT_TIMEOUT_MS),
  confirmTimeoutMs: withDefault(milliseconds({ min: 1 }), DEFAULT_CONFIRM_TIMEOUT_MS),
  heartbeatSeconds: withDefault(integer({ min: 1, max: 3_600 }), DEFAULT_HEARTBEAT_SECONDS),
  reconnectBaseMs: withDefault(milliseconds({ min: 1 }), DEFAULT_RECONNECT_BASE_MS),
  reconnectMaxMs: withDefault(milliseconds({ min: 1 }), DEFAULT_RECONNECT_MAX_MS),
  onConnection: withDefault(listener<(news: ConnectionNews) => void>(), () => {}),
  client: optional(having<AmqpClient>('give the module amqplib', 'connect')),
  ...clockAndRandomRules,
}

const relations: Relations<typeof rules> = (options, fault) => {
  const { reconnectBaseMs, reconnectMaxMs, maxLength, queueType } = options
  if (maxLength !== undefined && queueType === 'classic')
    fault('maxLength', 'remove it, or use quorum queues; a full classic queue drops returning retries')
  if (reconnectMaxMs < reconnectBaseMs)
    fault('reconnectMaxMs', `give at least reconnectBaseMs (${reconnectBaseMs})`)
}

export type RabbitmqSettings = Resolved<typeof rules>

export function resolveRabbitmq(options: RabbitmqOptions): RabbitmqSettings {
  return resolveOptions('rabbitmq', rules, options, relations)
}

/** The server for errors and logs, without user and password. */
export function serverOf(url: string): string {
  const { protocol, host, pathname } = new URL(url)
  return `${protocol}//${host}${pathname === '/' ? '' : pathname}`
}

function inOrder(steps: readonly number[]): readonly number[] {
  return Object.freeze([...new Set(steps)].sort((a, b) => a - b))
}

/** Dead letters in a queue that consumers read would run again and again. */
function isReadByConsumers(name: string, queue: string): boolean {
  return (
    ['', '.suspects', '.owner', '.held'].some(ending => name === queue + ending) ||
    name.startsWith(`${queue}.retry.`)
  )
}

function deadLetterName(): Rule<string> {
  return custom(
    (value): value is string =>
      typeof value === 'string' &&
      /^[\x21-\x7e]+$/.test(value) &&
      value.length <= MAX_DEAD_LETTER_NAME &&
      !value.startsWith('amq.') &&
      !isReadByConsumers(value, QUEUE),
    `give a name of 1 to ${MAX_DEAD_LETTER_NAME} ASCII characters that no other queue has, such as '{queue}.failed'`,
  )
}

function deadLetterQueueOf(name: string): (queue: string) => string {
  return queue => {
    const letters = name.replaceAll(QUEUE, queue)
    if (isReadByConsumers(letters, queue)) throw sameQueueError(name, queue)
    return letters
  }
}

function sameQueueError(name: string, queue: string): OptionsError {
  const remedy = `give another name, such as '{queue}.failed'; consumers read queue '${queue}' and the queues beside it`
  return new OptionsError('rabbitmq', [{ path: 'deadLetterQueue', received: `'${name}'`, remedy }])
}

/** The value is not shown: it contains the password. */
function amqpUrl(): Rule<string> {
  return {
    read(value, path, faults) {
      if (typeof value === 'string' && /^amqps?:\/\//.test(value) && URL.canParse(value)) return value
      const received = typeof value === 'string' ? 'a value that is not shown' : typeof value
      faults.list.push({
        path,
        received,
        remedy: "give a URL such as 'amqp://user:password@host:5672/vhost'",
      })
      return ''
    },
  }
}
