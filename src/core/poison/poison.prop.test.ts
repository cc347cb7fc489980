import fc from 'fast-check'
import { expect, it } from 'vitest'
import { resolveBy } from '../options/resolve.ts'
import { type PoisonOptions, type PoisonPolicy, poisonRule } from './options.ts'
import { type FailedAttempt, judgePoison } from './poison.ts'

const isPoison = (attempts: readonly FailedAttempt[], policy: PoisonPolicy, now: number) =>
  judgePoison({ attempts, started: attempts.length, ended: attempts.length }, policy, now).poisoned

const resolvePoison = (input?: PoisonOptions | 'off') => resolveBy('poison', poisonRule, input)

const NOW = 1_700_000_000_000
const WINDOW_MS = 1_000

const policies = fc
  .integer({ min: 2, max: 4 })
  .map(repeats => resolvePoison({ repeats, windowMs: WINDOW_MS }))
const failure = fc.record({
  at: fc.integer({ min: NOW - 2 * WINDOW_MS, max: NOW + WINDOW_MS / 10 }),
  fingerprint: fc.constantFrom('a', 'b', 'c'),
  sick: fc.oneof({ weight: 3, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
})
const failures = fc.array(failure, { maxLength: 14 })

it('K5: agrees with counting each fingerprint by itself', () => {
  fc.assert(
    fc.property(policies, failures, (policy, attempts) => {
      if (policy === 'off') return
      const most = Math.max(...['a', 'b', 'c'].map(name => naiveCount(attempts, name)))
      const verdict = judge(attempts, policy)
      expect(isPoison(attempts, policy, NOW)).toBe(most >= policy.repeats)
      expect(verdict.poisoned).toBe(most >= policy.repeats)
      if (verdict.poisoned && verdict.by === 'repeats') {
        expect(verdict.count).toBe(most)
        expect(naiveCount(attempts, verdict.fingerprint)).toBe(most)
      }
    }),
    { numRuns: 500 },
  )
})

it('K5: does not depend on the order of the attempts', () => {
  fc.assert(
    fc.property(policies, failures.chain(shuffled), (policy, [attempts, other]) => {
      expect(judge(other, policy)).toEqual(judge(attempts, policy))
    }),
  )
})

it('K5: one more failure never makes a poisoned event harmless', () => {
  fc.assert(
    fc.property(policies, failures, failure, (policy, attempts, another) => {
      fc.pre(isPoison(attempts, policy, NOW))
      expect(isPoison([...attempts, another], policy, NOW)).toBe(true)
    }),
  )
})

it('K5: a failure with another fingerprint, or of a failing dependency, never counts against the first', () => {
  fc.assert(
    fc.property(policies, failures, failure, (policy, attempts, another) => {
      const first = attempts.filter(attempt => attempt.fingerprint === 'a')
      fc.pre(!isPoison(first, policy, NOW))
      expect(isPoison([...first, { ...another, fingerprint: 'b' }], policy, NOW)).toBe(false)
      expect(isPoison([...first, { ...another, fingerprint: 'a', sick: true }], policy, NOW)).toBe(false)
    }),
  )
})

function judge(attempts: readonly FailedAttempt[], policy: ReturnType<typeof resolvePoison>) {
  return judgePoison({ attempts, started: attempts.length, ended: attempts.length }, policy, NOW)
}

function naiveCount(attempts: readonly FailedAttempt[], fingerprint: string): number {
  return attempts
    .filter(attempt => attempt.fingerprint === fingerprint && !attempt.sick)
    .filter(attempt => attempt.at >= NOW - WINDOW_MS && attempt.at <= NOW + WINDOW_MS).length
}

function shuffled(attempts: FailedAttempt[]): fc.Arbitrary<[FailedAttempt[], FailedAttempt[]]> {
  return fc.tuple(
    fc.constant(attempts),
    fc.shuffledSubarray(attempts, { minLength: attempts.length, maxLength: attempts.length }),
  )
}
