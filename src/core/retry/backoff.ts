import { custom, milliseconds, type Rule } from '../options/rules.ts'
import type { Random } from '../random.ts'

/**
 * How long to wait before each retry. A backoff is an immutable value and holds no position: asking it never advances
 * it, so the same question always has the same answer and one backoff can serve any number of events at once.
 *
 * `delayMs` is a whole number of milliseconds from 0 to `maxMs` for any retry number.
 */
export interface Backoff {
  /** Names the backoff, such as `exponential`. */
  readonly kind: string
  /**
   * The wait before retry `retry`; 1 is the first. `previousDelayMs` is the wait before the retry that came before,
   * 0 if there was none; only `decorrelated` looks at it.
   */
  delayMs(retry: number, previousDelayMs: number, random: Random): number
  /** The longest wait that the backoff can return, in ms. */
  readonly maxMs: number
  /** How many retries the backoff itself provides for, if it says so: `tiers` does. */
  readonly retries?: number
}

/** A longer wait is not a retry. The limit also keeps every sum with a time of day far from the edge of a number. */
export const MAX_DELAY_MS = 365 * 24 * 60 * 60 * 1_000

export const DEFAULT_BASE_MS = 100
export const DEFAULT_MAX_MS = 5_000

export const delayRule: Rule<number> = milliseconds({ max: MAX_DELAY_MS })

/** A backoff as a value of code. `backoffRule` also accepts its description as data. */
export const backoffValueRule: Rule<Backoff> = custom(
  isBackoff,
  'give a backoff: exponential(), linear(), fixed(), decorrelated() or tiers()',
)

export function isBackoff(value: unknown): value is Backoff {
  if (typeof value !== 'object' || value === null) return false
  const { kind, delayMs, maxMs } = value as Partial<Backoff>
  return typeof kind === 'string' && typeof delayMs === 'function' && typeof maxMs === 'number' && maxMs >= 0
}

/** The relation every growing backoff has: a cap below the base would silently be the base. */
export function capIsNotBelowBase(
  options: { readonly baseMs: number; readonly maxMs: number },
  fault: (field: 'baseMs', remedy: string) => void,
): void {
  if (options.baseMs > options.maxMs) fault('baseMs', `give at most maxMs (${options.maxMs}), or raise maxMs`)
}

/** Retries already made before this one; an invalid number counts as no retry, so no delay is ever NaN. */
export function retriesBefore(retry: number): number {
  return retry > 1 ? retry - 1 : 0
}

/** Whole milliseconds, because delays end up in timers, headers and integer columns. */
export function wholeMs(delayMs: number, maxMs: number): number {
  return Math.min(maxMs, Math.round(delayMs))
}
