import fc from 'fast-check'
import { expect, it } from 'vitest'
import { CATEGORIES } from '../failure/classification.ts'
import { resolveBy } from '../options/resolve.ts'
import { type PoisonOptions, type PoisonPolicy, poisonRule } from './options.ts'
import { type FailedAttempt, judgePoison } from './poison.ts'

const isPoison = (attempts: readonly FailedAttempt[], policy: PoisonPolicy, hasRetriesLeft: boolean) =>
  judge(attempts, policy, hasRetriesLeft).poisoned

const resolvePoison = (input?: PoisonOptions | 'off') => resolveBy('poison', poisonRule, input)

const NOW = 1_700_000_000_000
const WINDOW_MS = 1_000

const policies = fc
  .integer({ min: 2, max: 4 })
  .map(repeats => resolvePoison({ repeats, windowMs: WINDOW_MS }))
const failure = fc.record({
  at: fc.integer({ min: NOW - 2 * WINDOW_MS, max: NOW + WINDOW_MS / 10 }),
  fingerprint: fc.constantFrom('a', 'b', 'c'),
  category: fc.constantFrom(...CATEGORIES),
})
const failures = fc.array(failure, { maxLength: 14 })

it('K5, R7: agrees with counting each fingerprint by itself', () => {
  fc.assert(
    fc.property(policies, failures, fc.boolean(), (policy, attempts, hasRetriesLeft) => {
      if (policy === 'off') return
      const most = Math.max(...['a', 'b', 'c'].map(name => naiveCount(attempts, name, hasRetriesLeft)))
      const verdict = judge(attempts, policy, hasRetriesLeft)
      expect(verdict.poisoned).toBe(most >= policy.repeats)
      if (verdict.poisoned && verdict.by === 'repeats') {
        expect(verdict.count).toBe(most)
        expect(naiveCount(attempts, verdict.fingerprint, hasRetriesLeft)).toBe(most)
      }
    }),
    { numRuns: 500 },
  )
})

it('K5: does not depend on the order of the attempts', () => {
  fc.assert(
    fc.property(
      policies,
      failures.chain(shuffled),
      fc.boolean(),
      (policy, [attempts, other], hasRetriesLeft) => {
        expect(judge(other, policy, hasRetriesLeft)).toEqual(judge(attempts, policy, hasRetriesLeft))
      },
    ),
  )
})

it('K5: one more failure never makes a poisoned event harmless', () => {
  fc.assert(
    fc.property(policies, failures, failure, fc.boolean(), (policy, attempts, another, hasRetriesLeft) => {
      fc.pre(isPoison(attempts, policy, hasRetriesLeft))
      expect(isPoison([...attempts, another], policy, hasRetriesLeft)).toBe(true)
    }),
  )
})

it('K5: a failure with another fingerprint, or of a failing dependency, never counts against the first', () => {
  fc.assert(
    fc.property(policies, failures, failure, fc.boolean(), (policy, attempts, another, hasRetriesLeft) => {
      const first = attempts.filter(attempt => attempt.fingerprint === 'a')
      fc.pre(!isPoison(first, policy, hasRetriesLeft))
      expect(isPoison([...first, { ...another, fingerprint: 'b' }], policy, hasRetriesLeft)).toBe(false)
      for (const category of ['transient', 'integration'] as const)
        expect(isPoison([...first, { ...another, fingerprint: 'a', category }], policy, hasRetriesLeft)).toBe(
          false,
        )
    }),
  )
})

it('R7: an event is poison while retries are left only if it is poison when none is left', () => {
  fc.assert(
    fc.property(policies, failures, (policy, attempts) => {
      fc.pre(isPoison(attempts, policy, true))
      expect(isPoison(attempts, policy, false)).toBe(true)
    }),
  )
})

function judge(attempts: readonly FailedAttempt[], policy: PoisonPolicy, hasRetriesLeft: boolean) {
  const count = attempts.length
  return judgePoison({ attempts, started: count, ended: count }, policy, NOW, hasRetriesLeft)
}

function naiveCount(
  attempts: readonly FailedAttempt[],
  fingerprint: string,
  hasRetriesLeft: boolean,
): number {
  const counting = hasRetriesLeft ? ['schema', 'business'] : ['schema', 'business', 'unknown']
  return attempts
    .filter(attempt => attempt.fingerprint === fingerprint && counting.includes(attempt.category))
    .filter(attempt => attempt.at >= NOW - WINDOW_MS && attempt.at <= NOW + WINDOW_MS).length
}

function shuffled(attempts: FailedAttempt[]): fc.Arbitrary<[FailedAttempt[], FailedAttempt[]]> {
  return fc.tuple(
    fc.constant(attempts),
    fc.shuffledSubarray(attempts, { minLength: attempts.length, maxLength: attempts.length }),
  )
}
