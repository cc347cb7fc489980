import { group, resolveBy } from '../options/resolve.ts'
import { integer, list, type Rule } from '../options/rules.ts'
import { type Backoff, backoffValueRule } from './backoff.ts'

/** One step of `tiers()`: a number of retries and their backoff. */
export interface Tier {
  /** How many retries wait by this tier's backoff before the next tier takes over. */
  readonly retries: number
  /** The waits before the retries of this tier. */
  readonly backoff: Backoff
}

const MAX_TIERS = 20

/** Tiers whose backoffs follow the given rule. */
export function tiersRule(backoff: Rule<Backoff>): Rule<readonly Tier[]> {
  return list(group({ retries: integer({ min: 1 }), backoff }), { minItems: 1, maxItems: MAX_TIERS })
}

/**
 * Backoffs one after the other: a few quick retries for failures that pass quickly, then slow ones for failures that a
 * person has to fix. Each tier counts its own retries from 1. Retries beyond the last tier, which only happen when the
 * policy allows more attempts than the tiers provide for, go on with the last tier.
 */
export function tiers(list: readonly Tier[]): Backoff {
  const read = resolveBy('tiers', tiersRule(backoffValueRule), list)
  return Object.freeze({
    kind: 'tiers',
    maxMs: Math.max(...read.map(tier => tier.backoff.maxMs)),
    retries: read.reduce((sum, tier) => sum + tier.retries, 0),
    delayMs(retry, previousDelayMs, random) {
      let before = 0
      for (const tier of read.slice(0, -1)) {
        if (retry <= before + tier.retries)
          return tier.backoff.delayMs(retry - before, previousDelayMs, random)
        before += tier.retries
      }
      return read.at(-1)!.backoff.delayMs(retry - before, previousDelayMs, random)
    },
  } satisfies Backoff)
}
