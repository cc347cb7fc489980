import { describe, expect, it } from 'vitest'
import { refused, consumerWorld as world } from '../../../test/support/consumer-world.ts'
import { fixed } from '../../core/retry/fixed.ts'
import type { ConsumerOptions } from './consumer-options.ts'

/** A dependency that is down until the test says otherwise; the second failure opens the breaker for 10 s. */
function down(options: Partial<ConsumerOptions>) {
  const dependency = { isDown: true, calls: 0 }
  const it = world({
    concurrency: 1,
    breaker: { failures: 2, openMs: 10_000, successes: 1 },
    retry: { attempts: 3, backoff: fixed({ delayMs: 1_000, jitter: 'none' }) },
    handle: async event => {
      dependency.calls++
      if (dependency.isDown) throw refused()
      it.handled.push(String(event.payload))
    },
    ...options,
  })
  return { ...it, dependency }
}

describe('while its breaker is open, a consumer', () => {
  it("B6: with 'retry-later' gives events back until the breaker may close, without an attempt", async () => {
    const { consumer, publish, clock, recorder, letters, handled, dependency } = down({
      whenOpen: 'retry-later',
    })
    await consumer.start()
    await publish('a', 'b')
    await clock.advance(0)
    expect(dependency.calls).toBe(2)
    expect(consumer.breaker?.state.mode).toBe('open')
    await publish('c', 'd', 'e')
    await clock.advance(9_000)
    expect(dependency.calls).toBe(2)
    // The consumer does not pause: it takes the events and gives them back.
    expect(recorder.of('consumerPaused')).toEqual([])
    expect(consumer.health()).toMatchObject({ active: 0, waiting: 0, paused: [] })
    const released = recorder.of('eventProcessed').filter(({ outcome }) => outcome === 'released')
    expect(released.length).toBeGreaterThanOrEqual(3)
    expect(released.every(({ attempts }) => attempts <= 1)).toBe(true)
    dependency.isDown = false
    await clock.advance(2_000)
    expect([...handled].sort()).toEqual(['a', 'b', 'c', 'd', 'e'])
    expect(await letters()).toEqual([])
    await consumer.close()
  })

  it("B6: with 'dead-letter' makes a letter of each event at once, and calls nothing", async () => {
    const { consumer, publish, clock, recorder, letters, dependency } = down({ whenOpen: 'dead-letter' })
    await consumer.start()
    await publish('a', 'b')
    await clock.advance(0)
    await publish('c', 'd', 'e')
    await clock.advance(0)
    expect(dependency.calls).toBe(2)
    expect(recorder.of('consumerPaused')).toEqual([])
    const atOnce = await letters()
    expect(atOnce.map(({ event }) => event.payload).sort()).toEqual(['c', 'd', 'e'])
    for (const letter of atOnce)
      expect(letter).toMatchObject({ state: 'dead', cycle: { reason: 'breaker_open', attemptCount: 0 } })
    await clock.advance(5_000)
    // The retries of the first two come due while the breaker is open.
    const [first] = (await letters()).filter(({ event }) => event.payload === 'a')
    expect(first?.cycle).toMatchObject({ reason: 'breaker_open', attemptCount: 1 })
    expect(dependency.calls).toBe(2)
    await consumer.close()
  })

  it("B6: with 'retry-later' and a breaker that a person forced open, holds events until the force ends", async () => {
    const { consumer, publish, clock, handled, dependency } = down({ whenOpen: 'retry-later' })
    dependency.isDown = false
    consumer.breaker?.force('open', 'ann')
    await consumer.start()
    await publish('x')
    await clock.advance(600_000)
    expect(handled).toEqual([])
    consumer.breaker?.force('closed')
    await clock.advance(0)
    expect(handled).toEqual(['x'])
    await consumer.close()
  })
})
