import { resolveOptions } from '../../../core/options/resolve.ts'
import { integer, milliseconds, optional, withDefault } from '../../../core/options/rules.ts'
import { type RedisOptions, resolveRedis } from '../options.ts'

export const DEFAULT_LEASE_MS = 30_000
export const DEFAULT_MAX_POLL_MS = 1_000

/** Where it keeps letters that nobody else has saved, it keeps them as `redisDeadLetters` does. */
export interface RedisStreamsOptions extends Omit<RedisOptions, 'ledgerRetentionMs'> {
  /** So long after its process has died, what it had open comes again; at most a third as long once more, if others ran before [30 s]. */
  readonly leaseMs?: number | undefined
  /** How long it may take to notice what nobody told of: retries of processes that have died [1 s]. */
  readonly maxPollMs?: number | undefined
  /** Entries a channel's stream may hold that some handler has not finished with; more are refused [as many as there is memory for]. */
  readonly maxLength?: number | undefined
}

const rules = {
  leaseMs: withDefault(milliseconds({ min: 30 }), DEFAULT_LEASE_MS),
  maxPollMs: withDefault(milliseconds({ min: 1 }), DEFAULT_MAX_POLL_MS),
  maxLength: optional(integer({ min: 1 })),
}

export type RedisStreamsSettings = ReturnType<typeof resolveStreams>

export function resolveStreams(subject: string, options: RedisStreamsOptions) {
  const { leaseMs, maxPollMs, maxLength, ...redis } = options
  const own = resolveOptions(subject, rules, { leaseMs, maxPollMs, maxLength })
  // The server takes whole milliseconds only.
  const whole = { leaseMs: Math.ceil(own.leaseMs), maxPollMs: Math.ceil(own.maxPollMs) }
  return Object.freeze({ ...resolveRedis(subject, redis), ...own, ...whole })
}
