import { describe, expect, it } from 'vitest'
import { memoryDeadLetters } from '../../adapters/memory/index.ts'
import { fixed } from '../../core/retry/fixed.ts'
import { FakeClock } from '../../testing/fake-clock.ts'
import { Recorder } from '../../testing/recorder.ts'
import { sleep } from '../sleep.ts'
import type { HandlerContext } from './handler-context.ts'
import { withDeadLetters } from './with-dead-letters.ts'

const REASON = new Error('the worker stops')

function wrapped(handler: (id: string, context: HandlerContext) => Promise<unknown>, more = {}) {
  const clock = new FakeClock()
  const recorder = new Recorder()
  const deadLetters = memoryDeadLetters()
  const caller = new AbortController()
  const runs = { started: 0, atOnce: 0, most: 0 }
  const counted = async (id: string, context: HandlerContext) => {
    runs.started++
    runs.most = Math.max(runs.most, ++runs.atOnce)
    try {
      return await handler(id, context)
    } finally {
      runs.atOnce--
    }
  }
  const safe = withDeadLetters(counted, {
    source: 'orders',
    name: 'mailer',
    deadLetters,
    retry: { attempts: 10, backoff: fixed({ delayMs: 100, jitter: 'none' }) },
    breaker: { failures: 1 },
    observer: recorder.observer,
    clock,
    random: () => 0.5,
    passContext: true,
    describe: (id: string) => ({ id }),
    ...more,
  })
  /** Calls with the caller's signal. The result, or the error, once the call has ended. */
  const call = (id: string) => {
    const state: { ended?: unknown } = {}
    const end = (value: unknown) => {
      state.ended = value
    }
    safe.run({ signal: caller.signal }, id).then(end, end)
    return state
  }
  return { clock, recorder, deadLetters, caller, runs, safe, call }
}

describe("the caller's signal in withDeadLetters", () => {
  it('R8: aborts the handler, and the call rejects with the reason when the handler has ended', async () => {
    const reasons: unknown[] = []
    const it = wrapped(async (_id, { signal }) => {
      await new Promise(resolve => signal.addEventListener('abort', resolve))
      reasons.push(signal.reason)
      await sleep(it.clock, 50)
      throw signal.reason
    })
    const called = it.call('m1')
    await it.clock.advance(10)
    it.caller.abort(REASON)
    await it.clock.advance(49)
    expect(reasons).toEqual([REASON])
    expect(called).toEqual({})
    await it.clock.advance(1)
    expect(called).toEqual({ ended: REASON })
    await it.clock.advance(60_000)
    expect(it.runs).toEqual({ started: 1, atOnce: 0, most: 1 })
    expect(it.recorder.count('attemptFailed')).toBe(0)
    expect(it.safe.breaker?.state.mode).toBe('closed')
    expect((await it.deadLetters.stats()).count).toBe(0)
    await it.safe.close()
  })

  it('R8: ends the wait between two attempts at once, and no attempt follows', async () => {
    const fails = async () => {
      throw new Error('reset')
    }
    const it = wrapped(fails, { breaker: undefined })
    const called = it.call('m1')
    await it.clock.advance(50)
    it.caller.abort(REASON)
    await it.clock.advance(0)
    expect(called).toEqual({ ended: REASON })
    await it.clock.advance(60_000)
    expect(it.runs.started).toBe(1)
    expect((await it.deadLetters.stats()).count).toBe(0)
    await it.safe.close()
  })

  it('R8: a signal that has aborted starts nothing', async () => {
    const it = wrapped(async () => 'ok')
    it.caller.abort(REASON)
    const called = it.call('m1')
    await it.clock.advance(0)
    expect(called).toEqual({ ended: REASON })
    expect(it.runs.started).toBe(0)
    await it.safe.close()
  })

  it('R8: a handler that succeeds in spite of the signal resolves the call', async () => {
    const it = wrapped(async id => {
      await sleep(it.clock, 200)
      return `handled ${id}`
    })
    const called = it.call('m1')
    await it.clock.advance(100)
    it.caller.abort(REASON)
    await it.clock.advance(100)
    expect(called).toEqual({ ended: 'handled m1' })
    await it.safe.close()
  })

  it.each([
    ['succeeds', 1],
    ['fails', 2],
  ])(
    'B15: a message that comes again waits for a handler that ignores the signal and %s',
    async (end, expected) => {
      const it = wrapped(
        async () => {
          await sleep(it.clock, 20_000)
          if (end === 'fails' && it.runs.started === 1) throw new Error('reset')
        },
        { timeoutMs: 50_000, lateMs: 1_000 },
      )
      const first = it.call('m1')
      await it.clock.advance(10)
      it.caller.abort(REASON)
      await it.clock.advance(999)
      expect(first).toEqual({})
      await it.clock.advance(1)
      expect(first).toEqual({ ended: REASON })
      const again = it.safe('m1')
      await it.clock.advance(100_000)
      await again
      expect(it.runs).toEqual({ started: expected, atOnce: 0, most: 1 })
      await it.safe.close()
    },
  )

  it('B15: after the timeout the next attempt waits until the handler has ended', async () => {
    const it = wrapped(
      async () => {
        await sleep(it.clock, it.runs.started === 1 ? 650 : 10)
        if (it.runs.started === 1) throw new Error('reset')
        return 'ok'
      },
      { timeoutMs: 100, lateMs: 200, breaker: undefined },
    )
    const called = it.safe('m1')
    await it.clock.advance(10_000)
    expect(await called).toBe('ok')
    expect(it.runs).toEqual({ started: 2, atOnce: 0, most: 1 })
    await it.safe.close()
  })
})
