import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { resolveBy } from '../options/resolve.ts'
import { type RetryLimitOptions, type RetryLimitPolicy, retryLimitRule } from './options.ts'
import { initialRetryLimit, limitRetry, type RetryLimitState } from './retry-limit.ts'

const resolveRetryLimit = (input?: RetryLimitOptions) => resolveBy('retryLimit', retryLimitRule, input)

const NOON = Date.UTC(2026, 0, 1, 12)
const never = () => 0

/** Asks for each arrival; a retry that neither goes nor waits has no start. */
function ask(policy: RetryLimitPolicy, arrivals: readonly number[], random = never) {
  let state = initialRetryLimit(policy)
  return arrivals.map(now => {
    const decision = limitRetry(policy, state, now, random)
    state = decision.state
    return decision.action === 'wait' ? decision.until : decision.action === 'go' ? now : decision.action
  })
}

function startsOf(options: RetryLimitOptions, arrivals: readonly number[], random = never): number[] {
  return ask(resolveRetryLimit(options), arrivals, random) as number[]
}

function mostIn(starts: readonly number[], windowMs: number): number {
  return Math.max(...starts.map(from => starts.filter(at => at >= from && at < from + windowMs).length))
}

describe('retry limit', () => {
  it('E5: 1000 waiting for a sink start at most 100 in any second, and all are done after 10 s', () => {
    const starts = startsOf({}, new Array(1_000).fill(NOON))
    expect(mostIn(starts, 1_000)).toBe(100)
    expect([starts[0], starts.at(-1)]).toEqual([NOON, NOON + 9_990])
  })

  it('E5: in batches of 100 per second 1000 are done after 9 s', () => {
    const starts = startsOf({ batch: {} }, new Array(1_000).fill(NOON))
    expect(mostIn(starts, 1_000)).toBe(100)
    expect(starts.at(-1)).toBe(NOON + 9_000)
  })

  it('E4: over the limit a retry is dropped or becomes a dead letter, and takes nothing', () => {
    for (const onLimit of ['drop', 'dead-letter'] as const) {
      const policy = resolveRetryLimit({ perSecond: 1, onLimit })
      const first = limitRetry(policy, initialRetryLimit(policy), NOON, never)
      const second = limitRetry(policy, first.state, NOON + 999, never)
      expect([first.action, second.action]).toEqual(['go', onLimit])
      expect(second.state).toBe(first.state)
      expect(limitRetry(policy, second.state, NOON + 1_000, never).action).toBe('go')
    }
  })

  it('E4: a retry that would wait longer than maxWaitMs becomes a dead letter', () => {
    const policy = resolveRetryLimit({ perSecond: 1, maxWaitMs: 2_000 })
    const results = ask(policy, new Array(5).fill(NOON))
    expect(results).toEqual([NOON, NOON + 1_000, NOON + 2_000, 'dead-letter', 'dead-letter'])
  })

  it('E4: jitter starts a delayed retry up to jitterRatio intervals after its turn', () => {
    const arrivals = [NOON, NOON, NOON]
    const options = { perSecond: 50, jitterRatio: 1.5 }
    expect(startsOf(options, arrivals)).toEqual([NOON, NOON + 20, NOON + 40])
    expect(startsOf(options, arrivals, () => 0.5)).toEqual([NOON, NOON + 35, NOON + 55])
  })

  it('E4: with jitter a half-open second sees at most perSecond + jitterRatio rounded up, for any draws', () => {
    const draws = fc.infiniteStream(fc.constantFrom(0, 0.3, 0.999_999))
    const ratio = fc.constantFrom(0, 0.5, 1, 1.5, 3.2)
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 60 }), ratio, draws, (perSecond, jitterRatio, draws) => {
        const arrivals = new Array(perSecond * 3 + 5).fill(NOON)
        const starts = startsOf({ perSecond, jitterRatio }, arrivals, () => draws.next().value)
        const secondLessTwoMicroseconds = 999.998
        const most = mostIn(starts, secondLessTwoMicroseconds)
        expect(most).toBeLessThanOrEqual(perSecond + Math.ceil(jitterRatio))
      }),
    )
  })

  it.each<RetryLimitOptions>([{ perSecond: 10 }, { batch: { size: 5, everyMs: 500 } }])(
    'E5: a clock set back by an hour does not stop retries for an hour (%o)',
    options => {
      const policy = resolveRetryLimit(options)
      const queued = (state: RetryLimitState, now: number) => limitRetry(policy, state, now, never)
      let state = initialRetryLimit(policy)
      for (let i = 0; i < 20; i++) state = queued(state, NOON).state
      const onTime = queued(state, NOON)
      const setBack = queued(state, NOON - 3_600_000)
      if (onTime.action !== 'wait' || setBack.action !== 'wait') throw new Error('both have to wait')
      expect(setBack.until).toBe(onTime.until - 3_600_000)
    },
  )

  it('E5: a state with another rate, from before the options were changed, starts again', () => {
    const smooth = resolveRetryLimit({ perSecond: 1 })
    const batch = resolveRetryLimit({ batch: {} })
    expect(limitRetry(smooth, initialRetryLimit(batch), NOON, never).state).toMatchObject({
      pacing: 'smooth',
    })
    expect(limitRetry(batch, initialRetryLimit(smooth), NOON, never)).toMatchObject({ action: 'go' })
  })

  it('E5: the state survives JSON', () => {
    for (const options of [{}, { batch: {} }]) {
      const policy = resolveRetryLimit(options)
      const initial = initialRetryLimit(policy)
      const { state } = limitRetry(policy, initial, NOON, never)
      expect(JSON.parse(JSON.stringify([initial, state]))).toEqual([initial, state])
    }
  })
})
