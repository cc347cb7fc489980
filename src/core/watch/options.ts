import { group, type Resolved, resolveBy } from '../options/resolve.ts'
import { integer, milliseconds, number, withDefault } from '../options/rules.ts'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
export const DEFAULT_AGE_MS = 30 * MINUTE_MS

/** What is watched of a channel, and from where on someone should know (K7). */
export interface WatchOptions {
  /** How often a snapshot is taken [60 000]. */
  readonly everyMs?: number | undefined
  /** More than so many that wait are told [100]. */
  readonly depth?: number | undefined
  /** Waiting for longer than this is told [1 800 000]. */
  readonly ageMs?: number | undefined
  /** One error being more than this share of those looked at is told [0.5] … */
  readonly dominance?: number | undefined
  /** … where more than so many were looked at [10]. */
  readonly dominanceOver?: number | undefined
  /** An alert ends after this number of successive snapshots within the limit [3]. */
  readonly calmAfter?: number | undefined
  /** The trend is that of so many snapshots [10]. */
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
