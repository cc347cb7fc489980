import type { Resolved } from '../options/resolve.ts'
import { integer, milliseconds, withDefault } from '../options/rules.ts'

/** The default of the option `repeatMs`. */
export const DEFAULT_REPEAT_MS = 300_000
/** The default of the option `resolveAfterMs`. */
export const DEFAULT_RESOLVE_AFTER_MS = 900_000
/** The default of the option `perMinute`. */
export const DEFAULT_PER_MINUTE = 30
/** More causes at once than anyone reads; the digest counts the rest. */
export const DEFAULT_MAX_OPEN = 200
const DAY_MS = 86_400_000

/** When alerts are sent, repeated and resolved. */
export interface AlertPolicyOptions {
  /** The shortest time between two messages of an open alert. An update is sent only if there is a new occurrence [5 min]. */
  readonly repeatMs?: number | undefined
  /** An alert about dead letters ends after this time without a new letter [15 min]. */
  readonly resolveAfterMs?: number | undefined
  /** Messages of all alerts together; what is beyond goes into one digest a minute [30]. */
  readonly perMinute?: number | undefined
  /** Alerts that are kept in memory [200]. */
  readonly maxOpen?: number | undefined
}

export const alertPolicyRules = {
  repeatMs: withDefault(milliseconds({ min: 1, max: DAY_MS }), DEFAULT_REPEAT_MS),
  resolveAfterMs: withDefault(milliseconds({ min: 1, max: 7 * DAY_MS }), DEFAULT_RESOLVE_AFTER_MS),
  perMinute: withDefault(integer({ min: 1, max: 1_000 }), DEFAULT_PER_MINUTE),
  maxOpen: withDefault(integer({ min: 1, max: 10_000 }), DEFAULT_MAX_OPEN),
}

export type AlertPolicy = Resolved<typeof alertPolicyRules>
