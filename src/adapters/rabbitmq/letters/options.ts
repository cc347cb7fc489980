import { type Relations, type Resolved, resolveOptions } from '../../../core/options/resolve.ts'
import {
  custom,
  integer,
  list,
  listener,
  milliseconds,
  oneOf,
  optional,
  text,
  withDefault,
} from '../../../core/options/rules.ts'
import type { ClockAndRandomOptions } from '../../../ports/clock.ts'
import type { AmqpClient } from '../connection/amqp.ts'
import { type RabbitmqSettings, resolveRabbitmq } from '../options.ts'

/** The default of the option `prefetch`. */
export const DEFAULT_COLLECT_PREFETCH = 500
/** The default of the option `pollIntervalMs`. */
export const DEFAULT_POLL_INTERVAL_MS = 30_000
/** The default of the option `handledAfterMs`. */
export const DEFAULT_HANDLED_AFTER_MS = 60_000
/** The default of the option `peekLimit`. */
export const DEFAULT_PEEK_LIMIT = 1_000

/** Options of `rabbitmqCollector()`. */
export interface CollectorOptions extends ClockAndRandomOptions {
  /** `amqp://` or `amqps://`, with user, password and vhost as RabbitMQ writes them. */
  readonly url: string
  /** Names the broker in the origins of letters ['rabbitmq']. */
  readonly name?: string | undefined
  /** Names of queues, with * for any characters; a name with * needs `management`. */
  readonly queues: readonly string[]
  /**
   * The address of the management API, which alone can list queues [none]. Without a user in it, the user of `url` is
   * taken.
   */
  readonly management?: string | undefined
  /** `drain` takes messages out of their queues; `peek` looks at them and leaves them there [drain]. */
  readonly mode?: 'drain' | 'peek' | undefined
  /** Where a replay goes: the exchange the message had come through, or straight into the queue that failed [exchange]. */
  readonly returnTo?: 'exchange' | 'queue' | undefined
  /** Messages of one queue that are being saved at once [500]. */
  readonly prefetch?: number | undefined
  /** Messages looked at in one look, from the head of each queue; mode `peek` only [1000]. */
  readonly peekLimit?: number | undefined
  /** How often queues are listed, and looked into by `peek` [30 s]. */
  readonly pollIntervalMs?: number | undefined
  /** So long after it was sent, a letter that did not come back counts as handled [1 min]. */
  readonly handledAfterMs?: number | undefined
  /** Receives errors of the collector [none]. The collector tries again in any case. */
  readonly onError?: ((error: unknown) => void) | undefined
  /** The module amqplib [loaded by its name]. Give it when a bundler cannot find the module. */
  readonly client?: AmqpClient | undefined
}

const rules = {
  queues: list(text({ maxLength: 255 }), { minItems: 1, maxItems: 1_000 }),
  management: optional(
    custom(isHttpUrl, "give the address of the management API, such as 'http://rabbitmq.local:15672'"),
  ),
  mode: withDefault(oneOf('drain', 'peek'), 'drain'),
  returnTo: withDefault(oneOf('exchange', 'queue'), 'exchange'),
  prefetch: withDefault(integer({ min: 1, max: 65_535 }), DEFAULT_COLLECT_PREFETCH),
  peekLimit: withDefault(integer({ min: 1, max: 100_000 }), DEFAULT_PEEK_LIMIT),
  pollIntervalMs: withDefault(milliseconds({ min: 10 }), DEFAULT_POLL_INTERVAL_MS),
  handledAfterMs: withDefault(milliseconds({ min: 10 }), DEFAULT_HANDLED_AFTER_MS),
  onError: withDefault(listener<(error: unknown) => void>(), () => {}),
}

const relations: Relations<typeof rules> = ({ queues, management }, fault) => {
  const pattern = queues.find(isPattern)
  if (pattern !== undefined && management === undefined)
    fault(
      'management',
      `give the address of the management API; only that API can list the queues that match '${pattern}'`,
    )
}

export interface CollectorSettings extends Resolved<typeof rules> {
  readonly connection: RabbitmqSettings
}

export function resolveCollector(options: CollectorOptions): CollectorSettings {
  const { url, name, client, clock, random, ...rest } = options
  return {
    ...resolveOptions('rabbitmqCollector', rules, rest, relations),
    connection: resolveRabbitmq({ url, name, client, clock, random }),
  }
}

export function isPattern(queue: string): boolean {
  return queue.includes('*')
}

function isHttpUrl(value: unknown): value is string {
  return typeof value === 'string' && /^https?:\/\//.test(value) && URL.canParse(value)
}
