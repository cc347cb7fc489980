import { group, type Resolved, resolveBy } from '../options/resolve.ts'
import {
  entries,
  integer,
  milliseconds,
  number,
  optional,
  orWord,
  type Rule,
  withDefault,
} from '../options/rules.ts'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
const DEFAULT_AGE_MS = 30 * MINUTE_MS

/** The alert limits of one channel, where they differ from those of all channels. */
export interface ChannelLimits {
  /** The alert limit on the number of waiting letters [that of all channels]. */
  readonly depth?: number | undefined
  /** The alert limit on the age of the oldest waiting letter, in ms [that of all channels]. */
  readonly ageMs?: number | undefined
  /** The alert limit on the share of one error among the sampled letters, from 0 to 1 [that of all channels]. */
  readonly dominance?: number | undefined
  /** The smallest number of sampled letters for that limit [that of all channels]. */
  readonly dominanceOver?: number | undefined
  /** The alert limit on the number of letters that failed within an hour [that of all channels]. */
  readonly ratePerHour?: number | undefined
}

/** The alert limits of channels (K7). */
export interface WatchOptions {
  /** How often a snapshot is taken [60 000]. */
  readonly everyMs?: number | undefined
  /** The alert limit on the number of waiting letters [100]. */
  readonly depth?: number | undefined
  /** The alert limit on the age of the oldest waiting letter, in ms [1 800 000]. */
  readonly ageMs?: number | undefined
  /** The alert limit on the share of one error among the sampled letters, from 0 to 1 [0.5]. */
  readonly dominance?: number | undefined
  /** The smallest number of sampled letters for that limit [10]. */
  readonly dominanceOver?: number | undefined
  /** The alert limit on the number of letters that failed within an hour [none]. */
  readonly ratePerHour?: number | undefined
  /** Limits of single channels, by their names. They take precedence over those of consumers [none]. */
  readonly channels?: Readonly<Record<string, ChannelLimits>> | undefined
  /** An alert ends after this number of successive snapshots within the limit [3]. */
  readonly calmAfter?: number | undefined
  /** The number of snapshots in a trend [10]. */
  readonly trendOver?: number | undefined
  /** A change of up to this share is not a trend [0.2]. */
  readonly stableWithin?: number | undefined
  /**
   * An alert begins this long before retention may delete a letter that nobody has decided about, in ms [86 400 000]. `'off'`
   * raises no such alert.
   */
  readonly expiringWithinMs?: number | 'off' | undefined
  /** How long snapshots are kept [7 days]. */
  readonly keepMs?: number | undefined
}

const limitRules = {
  depth: optional(integer({ min: 0 })),
  ageMs: optional(milliseconds({ min: 1 })),
  dominance: optional(number({ min: 0, max: 1 })),
  dominanceOver: optional(integer({ min: 0 })),
  ratePerHour: optional(integer({ min: 0 })),
}

/** The limits of one channel, in `watch.channels` and as `watch` of a consumer. */
export const channelLimitsRule: Rule<ChannelLimits> = group(limitRules)
const NO_CHANNELS: Readonly<Record<string, ChannelLimits>> = Object.freeze({})

const watchRules = {
  everyMs: withDefault(milliseconds({ min: 1_000, max: DAY_MS }), MINUTE_MS),
  depth: withDefault(integer({ min: 0 }), 100),
  ageMs: withDefault(milliseconds({ min: 1 }), DEFAULT_AGE_MS),
  dominance: withDefault(number({ min: 0, max: 1 }), 0.5),
  dominanceOver: withDefault(integer({ min: 0 }), 10),
  ratePerHour: optional(integer({ min: 0 })),
  channels: withDefault(entries(channelLimitsRule, 'give a map of channel names to limits'), NO_CHANNELS),
  calmAfter: withDefault(integer({ min: 1, max: 100 }), 3),
  trendOver: withDefault(integer({ min: 3, max: 1_000 }), 10),
  stableWithin: withDefault(number({ min: 0, max: 10 }), 0.2),
  expiringWithinMs: withDefault<number | 'off'>(
    orWord('off', milliseconds({ min: MINUTE_MS, max: 365 * DAY_MS })),
    DAY_MS,
  ),
  keepMs: withDefault(milliseconds({ min: MINUTE_MS }), 7 * DAY_MS),
}

export type WatchPolicy = Resolved<typeof watchRules>
export const watchRule = group(watchRules)
export const DEFAULT_WATCH: WatchPolicy = resolveBy('watch', watchRule, {})

/**
 * The policy with the limits of one channel: those of all channels, then the lowest that its consumers in this process
 * set, then those that `watch.channels` sets, which an operator can change without a release.
 */
export function policyOf(
  policy: WatchPolicy,
  channel: string,
  ofConsumers: readonly ChannelLimits[] = [],
): WatchPolicy {
  const own = Object.hasOwn(policy.channels, channel) ? policy.channels[channel] : undefined
  return { ...policy, ...lowest(ofConsumers), ...given(own) }
}

type GivenLimits = Partial<Record<keyof ChannelLimits, number>>

function lowest(limits: readonly ChannelLimits[]): GivenLimits {
  const result: Record<string, number> = {}
  for (const each of limits)
    for (const [name, value] of Object.entries(given(each)))
      result[name] = Math.min(result[name] ?? value, value)
  return result
}

/** Without the limits that are left out, which must not hide those of all channels. */
function given(limits: ChannelLimits = {}): GivenLimits {
  return Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined))
}
