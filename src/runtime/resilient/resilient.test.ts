import { describe, expect, it } from 'vitest'
import { BreakerOpenError } from '../../core/breaker/errors.ts'
import { PermanentError, RetryAfterError } from '../../core/failure/signals.ts'
import { RateLimitedError } from '../../core/limit/errors.ts'
import { exponential } from '../../core/retry/exponential.ts'
import { FakeClock } from '../../testing/fake-clock.ts'
import { Recorder } from '../../testing/recorder.ts'
import { type AttemptContext, TimeoutError } from '../attempt/attempt.ts'
import { createBreaker } from '../breaker.ts'
import { type Resilient, resilient } from './resilient.ts'
import type { ResilientOptions } from './resilient-options.ts'

const refused = () => Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
const steady = { attempts: 4, backoff: exponential({ baseMs: 100, maxMs: 5_000, jitter: 'none' }) }

/** A function that fails so many times, then works, under policies on a driven clock. */
function protect(failures: number, options: ResilientOptions, error: () => unknown = refused) {
  const clock = new FakeClock()
  const recorder = new Recorder()
  const startedAt: number[] = []
  const start = clock.now()
  const call = resilient(
    async (value: string) => {
      startedAt.push(clock.now() - start)
      if (startedAt.length <= failures) throw error()
      return value
    },
    { name: 'work', clock, random: () => 0.5, observer: recorder.observer, ...options },
  )
  return { clock, recorder, startedAt, call }
}

async function outcome(clock: FakeClock, promise: Promise<unknown>, withinMs = 60_000): Promise<unknown> {
  const ended = promise.then(
    value => ({ value }),
    (error: unknown) => ({ error }),
  )
  await clock.advance(withinMs)
  return ended
}

describe('resilient retries', () => {
  it('E1: a flaky call succeeds, with the waits of its policy between the attempts', async () => {
    const { clock, call, startedAt, recorder } = protect(3, { retry: steady })
    expect(await outcome(clock, call('ok'))).toEqual({ value: 'ok' })
    expect(startedAt).toEqual([0, 100, 300, 700])
    expect(recorder.of('callSucceeded')).toEqual([{ name: 'work', attempts: 4, durationMs: 700 }])
  })

  it('E1: after its last attempt it rejects with that attempt’s own error', async () => {
    let count = 0
    const { clock, call, recorder } = protect(9, { retry: steady }, () => new Error(`down ${++count}`))
    expect(await outcome(clock, call('x'))).toEqual({ error: new Error('down 4') })
    expect(recorder.of('gaveUp')).toMatchObject([{ attempts: 4, reason: 'attempts_exhausted' }])
  })

  it('E2: a permanent error is never retried', async () => {
    const { clock, call, startedAt, recorder } = protect(1, { retry: steady }, () => new PermanentError('no'))
    expect(await outcome(clock, call('x'))).toEqual({ error: new PermanentError('no') })
    expect(startedAt).toEqual([0])
    expect(recorder.of('gaveUp')).toMatchObject([{ attempts: 1, reason: 'permanent' }])
  })

  it('B1: an error that names its delay wins over the policy', async () => {
    const error = () => new RetryAfterError('later', { delayMs: 2_500 })
    const { clock, call, startedAt, recorder } = protect(1, { retry: steady }, error)
    await outcome(clock, call('x'))
    expect(startedAt).toEqual([0, 2_500])
    expect(recorder.of('retryScheduled')).toMatchObject([{ delayFrom: 'retry-after', attempt: 2 }])
  })

  it('E1: rules of one’s own come before the built-in table', async () => {
    const notFound = () => Object.assign(new Error('not yet'), { status: 404 })
    const plain = protect(1, { retry: steady }, notFound)
    expect(await outcome(plain.clock, plain.call('x'))).toHaveProperty('error')
    const ruled = protect(
      1,
      { retry: steady, classify: [{ when: e => e instanceof Error, retryable: true }] },
      notFound,
    )
    expect(await outcome(ruled.clock, ruled.call('x'))).toEqual({ value: 'x' })
  })

  it('K3: without a retry policy there is one attempt', async () => {
    const { clock, call, startedAt } = protect(1, { breaker: {} })
    expect(await outcome(clock, call('x'))).toHaveProperty('error')
    expect(startedAt).toEqual([0])
  })
})

describe('resilient asks before each attempt', () => {
  it('K4: the breaker is asked before every attempt, retries included', async () => {
    const { clock, call, startedAt, recorder } = protect(9, {
      retry: steady,
      breaker: { failures: 2, openMs: 60_000 },
    })
    expect(await outcome(clock, call('x'))).toMatchObject({ error: { code: 'ECONNREFUSED' } })
    expect(startedAt).toEqual([0, 100])
    expect(recorder.of('gaveUp')).toMatchObject([{ attempts: 2, reason: 'breaker_open' }])
    expect(recorder.of('breakerChanged')).toMatchObject([{ from: 'closed', to: 'open' }])
  })

  it('E16: an open breaker refuses the first attempt and says until when', async () => {
    const { clock, call, startedAt } = protect(9, { breaker: { failures: 1, openMs: 10_000 } })
    await outcome(clock, call('x'), 0)
    const refusal = await outcome(clock, call('x'), 0)
    expect(refusal).toMatchObject({ error: { retryAt: clock.now() + 10_000 } })
    expect((refusal as { error: unknown }).error).toBeInstanceOf(BreakerOpenError)
    expect(startedAt).toHaveLength(1)
  })

  it('B5: a business error does not open the breaker', async () => {
    const { clock, call, recorder } = protect(
      9,
      { breaker: { failures: 2 } },
      () => new PermanentError('no stock'),
    )
    for (let i = 0; i < 5; i++) await outcome(clock, call('x'), 0)
    expect(recorder.count('breakerChanged')).toBe(0)
  })

  it('E16: one breaker can guard several functions', async () => {
    const clock = new FakeClock()
    const breaker = createBreaker({ failures: 1 }, { name: 'billing', clock })
    const charge = resilient(async () => Promise.reject(refused()), { breaker, clock })
    const refund = resilient(async () => 'refunded', { breaker, clock })
    await outcome(clock, charge(), 0)
    expect(await outcome(clock, refund(), 0)).toHaveProperty('error.code', 'LAZARET_BREAKER_OPEN')
    breaker.force('closed')
    expect(await outcome(clock, refund(), 0)).toEqual({ value: 'refunded' })
  })

  it('E3: retries count toward the rate limit', async () => {
    const { clock, call, startedAt, recorder } = protect(9, {
      retry: steady,
      rateLimit: { perSecond: 1, burst: 2 },
    })
    await outcome(clock, call('x'))
    expect(startedAt).toEqual([0, 100])
    expect(recorder.of('gaveUp')).toMatchObject([{ reason: 'rate_limited' }])
  })

  it('E14: a limited first attempt rejects with the time from which one more is allowed', async () => {
    const { clock, call } = protect(0, { rateLimit: { perSecond: 1, burst: 1 } })
    await outcome(clock, call('a'), 0)
    const refusal = (await outcome(clock, call('b'), 0)) as { error: unknown }
    expect(refusal.error).toBeInstanceOf(RateLimitedError)
    expect(refusal.error).toMatchObject({ retryAt: clock.now() + 1_000 })
  })

  it('E4: retries over the retry limit wait for their turn', async () => {
    const clock = new FakeClock()
    const start = clock.now()
    const retriedAt: number[] = []
    const failed = new Set<number>()
    const call = resilient(
      async (id: number) => {
        if (!failed.has(id)) {
          failed.add(id)
          throw refused()
        }
        retriedAt.push(clock.now() - start)
      },
      { clock, random: () => 0, retry: steady, retryLimit: { perSecond: 10 } },
    )
    const calls = Array.from({ length: 5 }, (_, id) => call(id))
    await clock.advance(2_000)
    await Promise.all(calls)
    expect(retriedAt).toEqual([100, 200, 300, 400, 500])
  })

  it('B2: an exhausted budget is its own reason and its own observation', async () => {
    const budget = { ratio: 0, floorPerSecond: 0.1, windowMs: 10_000 }
    const { clock, call, recorder, startedAt } = protect(9, { retry: steady, budget })
    await outcome(clock, call('x'))
    expect(startedAt).toHaveLength(2)
    expect(recorder.count('budgetExhausted')).toBe(1)
    expect(recorder.of('gaveUp')).toMatchObject([{ reason: 'retry_budget' }])
  })
})

describe('resilient ends attempts', () => {
  it('E17: an attempt that hangs is ended by its timeout and counted as transient', async () => {
    const clock = new FakeClock()
    const recorder = new Recorder()
    const never = resilient(() => new Promise<never>(() => {}), {
      name: 'hang',
      timeoutMs: 2_000,
      clock,
      observer: recorder.observer,
    })
    const ended = (await outcome(clock, never(), 3_000)) as { error: unknown }
    expect(ended.error).toBeInstanceOf(TimeoutError)
    expect(recorder.of('timedOut')).toEqual([{ name: 'hang', attempt: 1, timeoutMs: 2_000 }])
    expect(recorder.of('attemptFailed')).toMatchObject([
      { failure: { category: 'transient', retryable: true } },
    ])
  })

  it('E17: the attempt’s signal aborts with the timeout, so that the work can stop too', async () => {
    const clock = new FakeClock()
    let seen: AbortSignal | undefined
    const call: Resilient<[string], never> = resilient(
      (_id: string, { signal }: AttemptContext) => {
        seen = signal
        return new Promise<never>(() => {})
      },
      { timeoutMs: 100, clock, passContext: true },
    )
    await outcome(clock, call('a'), 200)
    expect(seen?.reason).toBeInstanceOf(TimeoutError)
  })

  it('a caller’s signal ends the attempt, the waits and the retries', async () => {
    const { clock, call, startedAt } = protect(9, { retry: steady })
    const controller = new AbortController()
    const waiting = call.run({ signal: controller.signal }, 'x')
    await clock.advance(50)
    controller.abort(new Error('shutting down'))
    await expect(waiting).rejects.toThrow('shutting down')
    await clock.advance(10_000)
    expect(startedAt).toEqual([0])
    await expect(call.run({ signal: controller.signal }, 'x')).rejects.toThrow('shutting down')
    expect(startedAt).toEqual([0])
  })

  it('B5: an aborted probe gives its slot back and changes nothing', async () => {
    const clock = new FakeClock()
    const controller = new AbortController()
    let hang = false
    const call = resilient(async () => (hang ? new Promise<never>(() => {}) : Promise.reject(refused())), {
      breaker: { failures: 1, openMs: 1_000 },
      clock,
    })
    await outcome(clock, call(), 0)
    await clock.advance(1_000)
    hang = true
    const probe = call.run({ signal: controller.signal }).catch((error: unknown) => error)
    expect(call.breaker?.state).toMatchObject({ mode: 'half-open', probesInFlight: 1 })
    controller.abort(new Error('enough'))
    expect(await probe).toEqual(new Error('enough'))
    expect(call.breaker?.state).toMatchObject({ mode: 'half-open', probesInFlight: 0 })
  })

  it('a function that throws before it returns a promise is handled like one that rejects', async () => {
    const clock = new FakeClock()
    const call = resilient(
      () => {
        throw refused()
      },
      { timeoutMs: 100, clock },
    )
    expect(await outcome(clock, call(), 0)).toMatchObject({ error: { code: 'ECONNREFUSED' } })
    expect(clock.pending).toBeLessThanOrEqual(1)
  })
})

describe('resilient and bad input', () => {
  it('F7: every fault of the options is in one error, with name, value and remedy', () => {
    const bad = {
      retry: { attempts: -1, maxElapsedMs: Number.NaN },
      breaker: { failures: 'many', openMs: 5, openMaxMs: 1 },
      timeoutMs: 0,
      tiemout: 3,
      rateLimit: {},
    } as unknown as ResilientOptions
    let message = ''
    try {
      resilient(async () => {}, bad)
    } catch (error) {
      message = (error as Error).message
    }
    for (const part of [
      'retry.attempts',
      '-1',
      'NaN',
      'breaker.failures',
      '"many"',
      'timeoutMs',
      'rateLimit.perSecond',
    ])
      expect(message).toContain(part)
    expect(message).toContain('unknown option')
  })

  it('an observer that throws changes nothing', async () => {
    const observer = {
      callSucceeded: () => {
        throw new Error('mine')
      },
    }
    const { clock, call } = protect(0, { retry: steady, observer })
    expect(await outcome(clock, call('ok'))).toEqual({ value: 'ok' })
  })
})
