import fc from 'fast-check'
import { expect, it } from 'vitest'
import { CATEGORIES } from '../failure/classification.ts'
import { resolveBy } from '../options/resolve.ts'
import { poisonRule } from '../poison/options.ts'
import type { FailedAttempt } from '../poison/poison.ts'
import { RETRY_PRESETS } from '../retry/presets.ts'
import { type AttemptDecision, decideAttempt } from './decide.ts'

const NOW = 1_700_000_000_000

const policies = fc
  .record({ attempts: fc.integer({ min: 1, max: 8 }), repeats: fc.integer({ min: 2, max: 5 }) })
  .map(({ attempts, repeats }) => ({
    retry: { ...RETRY_PRESETS.consumer, attempts },
    poison: resolveBy('poison', poisonRule, { repeats, windowMs: 60_000 }),
  }))
const failure = fc.record({
  at: fc.integer({ min: NOW - 90_000, max: NOW + 6_000 }),
  fingerprint: fc.constantFrom('a', 'a', 'a', 'b'),
  category: fc.constantFrom(...CATEGORIES),
})
const histories = fc.array(failure, { minLength: 1, maxLength: 8 })

type Policy = typeof policies extends fc.Arbitrary<infer P> ? P : never

/** What follows the last failure of the history, which is retryable. */
function decide(policy: Policy, attempts: readonly FailedAttempt[]): AttemptDecision {
  const { category } = attempts.at(-1)!
  const attempt = attempts.length
  const cycle = () => ({ attempts, started: attempt, ended: attempt })
  const history = { attempt, elapsedMs: 0, previousDelayMs: 0, cycle }
  return decideAttempt(policy, history, { retryable: true, category, retryAfterMs: undefined }, NOW, () => 0)
}

it('F1, R7: a transient, integration or unknown failure gets every attempt, whatever failed before', () => {
  fc.assert(
    fc.property(policies, histories, (policy, attempts) => {
      const { category } = attempts.at(-1)!
      fc.pre(category !== 'schema' && category !== 'business')
      const decision = decide(policy, attempts)
      expect(decision.do).toBe(attempts.length < policy.retry.attempts ? 'retry' : 'give-up')
    }),
    { numRuns: 1_000 },
  )
})

it('K5, R7: poison is one fingerprint often enough, that blames the event or that nothing recognised to the end', () => {
  fc.assert(
    fc.property(
      policies,
      fc.constantFrom(...CATEGORIES),
      fc.integer({ min: 1, max: 8 }),
      (policy, category, count) => {
        if (policy.poison === 'off') return
        const attempts = Array.from({ length: count }, () => ({ at: NOW, fingerprint: 'a', category }))
        const isOften = count >= policy.poison.repeats
        const isExhausted = count >= policy.retry.attempts
        const blamed = category === 'schema' || category === 'business'
        const isPoison = isOften && (blamed || (category === 'unknown' && isExhausted))
        const expected = isPoison ? 'poison' : isExhausted ? 'attempts_exhausted' : undefined
        const decision = decide(policy, attempts)
        expect(decision.do === 'give-up' ? decision.because : undefined).toBe(expected)
      },
    ),
    { numRuns: 1_000 },
  )
})
