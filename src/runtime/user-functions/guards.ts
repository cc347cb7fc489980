// Puts the documented fallback round functions that a user hands in: docs/policies/user-functions.md lists all of them.
import type { ErrorSubject } from '../../core/dead-letter/subject-masks.ts'
import { type FailureRule, isErrorClass } from '../../core/failure/failure-rule.ts'
import { unusable } from '../../core/options/unusable.ts'
import type { Random } from '../../core/random.ts'
import { type Backoff, MAX_DELAY_MS } from '../../core/retry/backoff.ts'
import type { CategoryRetry, RetryPolicy } from '../../core/retry/retry-policy.ts'
import { systemRandom } from '../../ports/clock.ts'
import type { UserFunction } from '../../ports/observer.ts'
import type { UserFaults } from './user-faults.ts'

/** The middle of every range, used when the random function fails. */
const FALLBACK_CHANCE = 0.5

/** Fallback: the middle of the range. Ids need real chance instead: two processes must not draw the same one. */
export function guardRandom(
  random: Random,
  faults: UserFaults,
  fallback: Random = () => FALLBACK_CHANCE,
): Random {
  if (random === systemRandom) return random
  return () => {
    try {
      const drawn: unknown = random()
      if (typeof drawn === 'number' && drawn >= 0 && drawn < 1) return drawn
      throw unusable('random', drawn, 'return a number from 0 up to 1')
    } catch (error) {
      faults.report('random', error)
      return fallback()
    }
  }
}

/**
 * Fallback: the delay of the default backoff. A delay outside 0 to `maxMs` is not a fault: core limits it to the cap.
 */
export function guardRetry(policy: RetryPolicy, fallback: Backoff, faults: UserFaults): RetryPolicy {
  const byCategory = Object.fromEntries(
    Object.entries(policy.byCategory).map(([category, own]) => [category, guarded(own, fallback, faults)]),
  )
  return { ...policy, ...guarded(policy, fallback, faults), byCategory }
}

function guarded({ attempts, backoff }: CategoryRetry, fallback: Backoff, faults: UserFaults): CategoryRetry {
  return { attempts, backoff: guardBackoff(backoff, fallback, faults) }
}

function guardBackoff(backoff: Backoff, fallback: Backoff, faults: UserFaults): Backoff {
  return {
    kind: backoff.kind,
    maxMs: Math.min(MAX_DELAY_MS, Math.max(backoff.maxMs, 0)),
    delayMs(retry, previousDelayMs, random) {
      try {
        const delayMs: unknown = backoff.delayMs(retry, previousDelayMs, random)
        if (typeof delayMs === 'number' && !Number.isNaN(delayMs)) return delayMs
        throw unusable('backoff', delayMs, 'return milliseconds from delayMs')
      } catch (error) {
        faults.report('backoff', error)
        return fallback.delayMs(retry, previousDelayMs, random)
      }
    },
  }
}

/** Fallback: the rule has no opinion, and the next one is asked. */
export function guardRules(rules: readonly FailureRule[], faults: UserFaults): readonly FailureRule[] {
  return rules.map(rule => {
    const { when } = rule
    if (typeof when !== 'function' || isErrorClass(when)) return rule
    return { ...rule, when: guardTest(when as (error: unknown) => boolean, 'classify', false, faults) }
  })
}

/**
 * A question with the answer that is taken when the function does not give one. Falsy values count as no. `subjectOf` says
 * which event or letter the arguments are about.
 */
export function guardTest<A extends unknown[]>(
  ask: (...args: A) => boolean,
  which: UserFunction,
  fallback: boolean,
  faults: UserFaults,
  subjectOf?: (...args: A) => ErrorSubject,
): (...args: A) => boolean {
  return (...args) => {
    try {
      const answer: unknown = ask(...args)
      // A promise is truthy: taken at its word, an async function would say yes to everything.
      if (typeof answer === 'object' && answer !== null)
        throw unusable(which, answer, 'return true or false, and not a promise of it')
      return answer === true
    } catch (error) {
      faults.report(which, error, subjectOf?.(...args))
      return fallback
    }
  }
}
