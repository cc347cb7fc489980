import { isPlainObject } from '../../../core/event/plain.ts'
import { countOf, textOf } from '../broker/wire/headers.ts'
import type { AmqpHeaders } from '../connection/amqp.ts'

/** One entry of `x-death`: the server moved the message out of a queue. */
export interface Death {
  readonly queue: string
  /** rejected, expired, maxlen or delivery_limit. */
  readonly reason: string
  readonly count: number
  /** To the second. */
  readonly at: number | undefined
  /** How the message had come into that queue. */
  readonly exchange: string
  readonly routingKey: string
}

const MOST_READ = 20

/** What the server wrote down, the latest first. */
export function readDeaths(headers: AmqpHeaders): readonly Death[] {
  const deaths = headers['x-death']
  if (!Array.isArray(deaths)) return []
  return deaths.slice(0, MOST_READ).flatMap(readDeath)
}

function readDeath(value: unknown): readonly Death[] {
  if (!isPlainObject(value)) return []
  const entry = value as AmqpHeaders
  const queue = textOf(entry['queue'])
  if (queue === undefined) return []
  const keys = entry['routing-keys']
  return [
    {
      queue,
      reason: textOf(entry['reason']) ?? 'unknown',
      count: countOf(entry['count']) || 1,
      at: secondsOf(entry['time']),
      exchange: textOf(entry['exchange']) ?? '',
      routingKey: (Array.isArray(keys) ? textOf(keys[0]) : undefined) ?? '',
    },
  ]
}

/** The client gives AMQP's timestamps a shape of its own. */
function secondsOf(value: unknown): number | undefined {
  const seconds = typeof value === 'number' ? value : (value as { readonly value?: unknown } | null)?.value
  return typeof seconds === 'number' && Number.isSafeInteger(seconds) && seconds > 0
    ? seconds * 1_000
    : undefined
}

const HOW: Readonly<Record<string, string>> = {
  rejected: 'was rejected from queue',
  expired: 'expired in queue',
  maxlen: 'was pushed out of the full queue',
  delivery_limit: 'was delivered too often from queue',
}

export function tellDeath({ reason, queue }: Death): string {
  return `${HOW[reason] ?? `was dead-lettered (${reason}) from queue`} ${queue}`
}
