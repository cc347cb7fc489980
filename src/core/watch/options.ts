import { group, type Resolved, resolveBy } from '../options/resolve.ts'
import { integer, milliseconds, number, withDefault } from '../options/rules.ts'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
export const DEFAULT_AGE_MS = 30 * MINUTE_MS

/** The alert limits of a channel (K7). */
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
  /** An alert ends after this number of successive snapshots within the limit [3]. */
  readonly calmAfter?: number | undefined
  /** The number of snapshots in a trend [10]. */
  readonly trendOver?: number | undefined
  /** A change of up to this share is not a trend [0.2]. */
  readonly stableWithin?: number | undefined
  /** How long snapshots are kept [7 days]. */
  readonly keepMs?: number | undefined
}

const watchRules = {
  everyMs: withDefault(milliseconds({ min: 1_000, max: DAY_MS }), MINUTE_MS),
  depth: withDefault(integer({ min: 0 }), 100),
  ageMs: withDefault(milliseconds({ min: 1 }), DEFAULT_AGE_MS),
  dominance: withDefault(number({ min: 0, max: 1 }), 0.5),
  dominanceOver: withDefault(integer({ min: 0 }), 10),
  calmAfter: withDefault(integer({ min: 1, max: 100 }), 3),
  trendOver: withDefault(integer({ min: 3, max: 1_000 }), 10),
  stableWithin: withDefault(number({ min: 0, max: 10 }), 0.2),
  keepMs: withDefault(milliseconds({ min: MINUTE_MS }), 7 * DAY_MS),
}

export type WatchPolicy = Resolved<typeof watchRules>
export const watchRule = group(watchRules)
export const DEFAULT_WATCH: WatchPolicy = resolveBy('watch', watchRule, {})
