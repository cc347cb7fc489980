import { describe, expect, it } from 'vitest'
import { refused, consumerWorld as world } from '../../../test/support/consumer-world.ts'
import { fixed } from '../../core/retry/fixed.ts'
import type { ConsumerOptions } from './consumer-options.ts'

const COUNT = 500
const names = Array.from({ length: COUNT }, (_, index) => `e${index}`)

/** Each event fails once, so that all retries are due at the same time. */
function storm(options: Partial<ConsumerOptions> = {}) {
  const failedOnce = new Set<string>()
  const retriedAt: number[] = []
  const handledAt = new Map<unknown, number>()
  const it = world({
    breaker: 'off',
    retry: { backoff: fixed({ delayMs: 1_000, jitter: 'none' }) },
    handle: async event => {
      if (String(event.payload).startsWith('e') && !failedOnce.has(event.id)) {
        failedOnce.add(event.id)
        throw refused()
      }
      if (failedOnce.has(event.id)) retriedAt.push(it.clock.now())
      handledAt.set(event.payload, it.clock.now())
    },
    ...options,
  })
  return { ...it, retriedAt, handledAt }
}

function mostWithin(times: readonly number[], windowMs: number): number {
  return Math.max(...times.map(from => times.filter(at => at >= from && at < from + windowMs).length))
}

describe('the default retry limit of a consumer', () => {
  it('R14, E4: starts 100 retries a second with a jitter of 1, and loses none', async () => {
    const { consumer, publish, clock, retriedAt, letters } = storm()
    await consumer.start()
    await publish(...names)
    await clock.advance(30_000)
    expect(retriedAt).toHaveLength(COUNT)
    // `perSecond` + `jitterRatio`.
    expect(mostWithin(retriedAt, 1_000)).toBeLessThanOrEqual(101)
    // The jitter: the retries are not on a grid of 10 ms.
    expect(new Set(retriedAt.map(at => at % 10)).size).toBeGreaterThan(2)
    // The turns are used: no retry takes the turn of another and leaves it.
    expect(retriedAt.at(-1)! - retriedAt[0]!).toBeLessThan(7_000)
    expect(await letters()).toEqual([])
    await consumer.close()
  })

  it("R14: 'off' switches the limit off", async () => {
    const { consumer, publish, clock, retriedAt } = storm({ retryLimit: 'off' })
    await consumer.start()
    await publish(...names)
    await clock.advance(30_000)
    expect(mostWithin(retriedAt, 1)).toBe(COUNT)
    await consumer.close()
  })

  it('R14: retries that wait for their turn do not hold up new events', async () => {
    const { consumer, publish, clock, handledAt, retriedAt } = storm({ concurrency: 2, prefetch: 4 })
    await consumer.start()
    await publish(...names)
    await clock.advance(1_500)
    expect(retriedAt.length).toBeLessThan(COUNT / 2)
    const publishedAt = clock.now()
    await publish('new')
    await clock.advance(60_000)
    expect(handledAt.get('new')! - publishedAt).toBeLessThan(100)
    expect(retriedAt).toHaveLength(COUNT)
    await consumer.close()
  })

  it('R14: retries that wait in the broker come back after a close, and cost no attempt', async () => {
    const { consumer, broker, deadLetters, publish, clock, retriedAt, recorder } = storm({ leaveOpen: true })
    await consumer.start()
    await publish(...names)
    await clock.advance(2_000)
    await consumer.close()
    const before = retriedAt.length
    expect(before).toBeLessThan(COUNT / 2)
    const next = storm({ broker, deadLetters, clock })
    await next.consumer.start()
    await clock.advance(60_000)
    // In the second consumer each event that was left fails once more, so it makes a third attempt.
    expect(new Set(next.handledAt.keys()).size).toBe(COUNT - before)
    expect(recorder.of('gaveUp')).toEqual([])
    expect((await deadLetters.stats()).count).toBe(0)
    await next.consumer.close()
  })
})
