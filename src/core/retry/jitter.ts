import { group } from '../options/resolve.ts'
import { eitherForm, number, oneOf, type Rule } from '../options/rules.ts'
import type { Random } from '../random.ts'
import { wholeMs } from './backoff.ts'

/**
 * How a delay d is spread, so that what failed together does not come back together. `full`: anywhere from 0 to d.
 * `equal`: from d/2 to d. `ratio` r: from d − r·d to d + r·d, but never above the backoff's cap. `none`: exactly d.
 */
export type Jitter =
  | 'full'
  | 'equal'
  | 'none'
  | {
      /** The largest deviation from the delay, as a share of the delay from 0 to 1. */
      readonly ratio: number
    }

export const DEFAULT_JITTER: Jitter = Object.freeze({ ratio: 0.1 })

const named = oneOf('full', 'equal', 'none')
const ratio = group({ ratio: number({ min: 0, max: 1 }) })

export const jitterRule: Rule<Jitter> = {
  form: eitherForm(named.form, ratio.form),
  read(value, path, faults) {
    if (typeof value === 'object' && value !== null) return ratio.read(value, path, faults)
    if (typeof value === 'string') return named.read(value, path, faults)
    faults.add(path, value, "give 'full', 'equal', 'none' or an object such as { ratio: 0.1 }")
    return DEFAULT_JITTER
  },
}

/** Expects `delayMs` to be within 0 and `maxMs`, and keeps it there. */
export function jittered(delayMs: number, maxMs: number, jitter: Jitter, random: Random): number {
  if (jitter === 'none') return wholeMs(delayMs, maxMs)
  if (jitter === 'full') return wholeMs(between(0, delayMs, random), maxMs)
  if (jitter === 'equal') return wholeMs(between(delayMs / 2, delayMs, random), maxMs)
  // The range ends at the cap before the draw: cutting off afterwards would send half of all late retries out at
  // exactly the cap, in step with each other.
  const highest = Math.min(maxMs, delayMs + delayMs * jitter.ratio)
  return wholeMs(between(delayMs - delayMs * jitter.ratio, highest, random), maxMs)
}

export function between(low: number, high: number, random: Random): number {
  return low + random() * (high - low)
}
