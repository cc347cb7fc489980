import { describe, expect, it } from 'vitest'
import type { Category } from '../failure/failure.ts'
import { resolveBy } from '../options/resolve.ts'
import { type PoisonOptions, type PoisonPolicy, poisonRule } from './options.ts'
import { type FailedAttempt, isCrashLoop, judgePoison } from './poison.ts'

const isPoison = (
  attempts: readonly FailedAttempt[],
  policy: PoisonPolicy,
  now: number,
  hasRetriesLeft = true,
) => {
  const count = attempts.length
  return judgePoison({ attempts, started: count, ended: count }, policy, now, hasRetriesLeft).poisoned
}

const resolvePoison = (input?: PoisonOptions | 'off') => resolveBy('poison', poisonRule, input)

const T0 = 1_700_000_000_000
const policy = resolvePoison(undefined)

describe('repeats', () => {
  it('K5: the same fingerprint 3 times within 60 s is poison, twice is not', () => {
    const attempts = [failed(0), failed(30_000), failed(60_000)]
    expect(isPoison(attempts.slice(0, 2), policy, T0 + 60_000)).toBe(false)
    expect(isPoison(attempts, policy, T0 + 60_000)).toBe(true)
    expect(isPoison(attempts, policy, T0 + 60_001)).toBe(false)
  })

  it('K5: three different failures are not poison', () => {
    const attempts = [failed(0, 'a'), failed(1, 'b'), failed(2, 'c')]
    expect(isPoison(attempts, policy, T0 + 2)).toBe(false)
  })

  it('K5: failures of a dependency do not count, or an outage would quarantine every event', () => {
    const outage = Array.from({ length: 20 }, (_, second) =>
      failed(second * 1_000, 'ECONNREFUSED', second % 2 === 0 ? 'transient' : 'integration'),
    )
    expect(isPoison(outage, policy, T0 + 20_000)).toBe(false)
    expect(isPoison(outage, policy, T0 + 20_000, false)).toBe(false)
    const both = [...outage, failed(20_000), failed(20_001), failed(20_002)]
    expect(isPoison(both, policy, T0 + 20_002)).toBe(true)
  })

  it('R7: a failure that nothing recognised counts only when no retry is left', () => {
    const attempts = [0, 1_000, 3_000, 7_000].map(after => failed(after, 'Error@handle', 'unknown'))
    expect(isPoison(attempts, policy, T0 + 7_000)).toBe(false)
    expect(isPoison(attempts, policy, T0 + 7_000, false)).toBe(true)
    expect(isPoison(attempts.slice(0, 2), policy, T0 + 1_000, false)).toBe(false)
  })

  it('R7: failures that blame the event and failures that nothing recognised are not added up before the end', () => {
    const attempts = [failed(0), failed(1), failed(2, 'TypeError@parse', 'unknown')]
    expect(isPoison(attempts, policy, T0 + 2)).toBe(false)
    expect(isPoison(attempts, policy, T0 + 2, false)).toBe(true)
  })

  it('K5: failures seen by a machine whose clock runs ahead count, but not from beyond the window', () => {
    const ahead = [failed(0), failed(2_000), failed(4_000)]
    expect(isPoison(ahead, policy, T0)).toBe(true)
    expect(isPoison(ahead, policy, T0 - 60_000)).toBe(false)
  })

  it('K5: tracking starts over when an operator fixes and replays it, because a new cycle carries nothing', () => {
    const ended = [failed(0), failed(1_000), failed(2_000)]
    const replayedAt = T0 + 3_000
    const replayed = { attempts: [] as FailedAttempt[], started: 0, ended: 0 }
    expect(judgePoison({ attempts: ended, started: 3, ended: 3 }, policy, replayedAt, true).poisoned).toBe(
      true,
    )
    expect(judgePoison(replayed, policy, replayedAt, true)).toEqual({ poisoned: false })
    const failedAgain = { attempts: [failed(3_500)], started: 1, ended: 1 }
    expect(judgePoison(failedAgain, policy, T0 + 3_500, true)).toEqual({ poisoned: false })
  })
})

describe('crashes', () => {
  it('B8: 3 attempts started and never ended are a crash loop, 2 are not', () => {
    expect(isCrashLoop({ started: 2, ended: 0 }, policy)).toBe(false)
    expect(isCrashLoop({ started: 3, ended: 0 }, policy)).toBe(true)
    expect(isCrashLoop({ started: 9, ended: 7 }, policy)).toBe(false)
    expect(isCrashLoop({ started: 9, ended: 6 }, policy)).toBe(true)
  })

  it('B8: an end that was counted twice is not a crash', () => {
    expect(isCrashLoop({ started: 1, ended: 5 }, policy)).toBe(false)
  })
})

describe('verdict', () => {
  it('K5: names the fingerprint and how often it came', () => {
    const attempts = [failed(0, 'a'), ...[1, 2, 3, 4].map(at => failed(at, 'b'))]
    expect(judgePoison({ attempts, started: 5, ended: 5 }, policy, T0 + 4, true)).toEqual({
      poisoned: true,
      by: 'repeats',
      fingerprint: 'b',
      count: 4,
    })
  })

  it('B8: names the crashes, which weigh more than repeats', () => {
    const attempts = [failed(0), failed(1), failed(2)]
    expect(judgePoison({ attempts, started: 7, ended: 3 }, policy, T0 + 2, true)).toEqual({
      poisoned: true,
      by: 'crashes',
      count: 4,
    })
  })

  it('K5: switched off, nothing is poison', () => {
    const history = { attempts: [failed(0), failed(1), failed(2)], started: 9, ended: 0 }
    expect(judgePoison(history, 'off', T0 + 2, true)).toEqual({ poisoned: false })
  })
})

function failed(
  after: number,
  fingerprint = 'TypeError@parse',
  category: Category = 'business',
): FailedAttempt {
  return { at: T0 + after, fingerprint, category }
}
