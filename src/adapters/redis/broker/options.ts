import { type Resolved, resolveOptions } from '../../../core/options/resolve.ts'
import { integer, milliseconds, optional, that, withDefault } from '../../../core/options/rules.ts'
import { type Codec, plainCodec } from '../../../ports/letter-codec.ts'
import { connectionRules, type RedisConnectionOptions, requireOneServer } from '../options.ts'

export const DEFAULT_LEASE_MS = 30_000
export const DEFAULT_MAX_POLL_MS = 1_000

export interface RedisStreamsOptions extends RedisConnectionOptions {
  /** How events are written at rest [JSON]. */
  readonly codec?: Codec | undefined
  /** So long after its process has died, what it had open comes again; at most a third as long once more, if others ran before [30 s]. */
  readonly leaseMs?: number | undefined
  /** How long it may take to notice what nobody told of: retries of processes that have died [1 s]. */
  readonly maxPollMs?: number | undefined
  /** Entries a channel's stream may hold that some handler has not finished with; more are refused [as many as there is memory for]. */
  readonly maxLength?: number | undefined
}

const rules = {
  ...connectionRules,
  codec: withDefault(
    that(isCodec, 'give a codec with letters and events, each with encode() and decode()'),
    plainCodec,
  ),
  leaseMs: withDefault(milliseconds({ min: 30 }), DEFAULT_LEASE_MS),
  maxPollMs: withDefault(milliseconds({ min: 1 }), DEFAULT_MAX_POLL_MS),
  maxLength: optional(integer({ min: 1 })),
}

export type RedisStreamsSettings = Resolved<typeof rules>

export function resolveStreams(subject: string, options: RedisStreamsOptions): RedisStreamsSettings {
  const settings = resolveOptions(subject, rules, options)
  requireOneServer(subject, settings)
  return settings
}

function isCodec(value: unknown): value is Codec {
  const codec = value as Partial<Codec> | null | undefined
  return [codec?.letters, codec?.events].every(
    part => typeof part?.encode === 'function' && typeof part.decode === 'function',
  )
}
