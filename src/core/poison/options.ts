import { group, type Resolved } from '../options/resolve.ts'
import { integer, milliseconds, orWord, type Rule, withDefault } from '../options/rules.ts'

/** When an event counts as poison. */
export interface PoisonOptions {
  /**
   * Failures with the same fingerprint that make an event poison, at least 2 [3]. Failures of category schema and business
   * count at once, unrecognised ones when no retry is left, those of a dependency never.
   */
  readonly repeats?: number | undefined
  /** The time window in which failures count, in ms [60 000]. */
  readonly windowMs?: number | undefined
  /** Attempts that started and never ended, because the process died, that make an event poison [3]. */
  readonly crashes?: number | undefined
}

const DEFAULT_REPEATS = 3
const DEFAULT_WINDOW_MS = 60_000
const DEFAULT_CRASHES = 3

const rules = {
  repeats: withDefault(integer({ min: 2 }), DEFAULT_REPEATS),
  windowMs: withDefault(milliseconds({ min: 1 }), DEFAULT_WINDOW_MS),
  crashes: withDefault(integer({ min: 1 }), DEFAULT_CRASHES),
}

export type PoisonPolicy = Resolved<typeof rules> | 'off'

/** For the options of a consumer, which report these faults together with their own. */
export const poisonRule: Rule<PoisonPolicy> = orWord('off', group(rules))
