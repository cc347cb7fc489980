import { describe, expect, it } from 'vitest'
import { consumerWorld as world } from '../../../test/support/consumer-world.ts'
import { memoryLedger } from '../../adapters/memory/index.ts'
import { FakeClock } from '../../testing/fake-clock.ts'
import { seededRandom } from '../../testing/seeded-random.ts'

function setUp(options = {}) {
  const clock = new FakeClock()
  const ledger = memoryLedger({ clock, random: seededRandom(3) })
  const here = world({ clock, ledger, ...options })
  return { ...here, ledger }
}

describe('a ledger that cannot be asked', () => {
  it('B16: pauses the consumer with a growing wait: no attempt, nothing counted as processed, and it is told', async () => {
    const { consumer, publish, clock, ledger, handled, recorder, letters } = setUp()
    const claim = ledger.claim.bind(ledger)
    let asked = 0
    ledger.claim = async () => {
      asked++
      throw new Error('ledger is down')
    }
    await consumer.start()
    await publish(...Array.from({ length: 30 }, (_, index) => `e${index}`))
    await clock.advance(60_000)
    expect(consumer.health()).toMatchObject({
      paused: ['ledger'],
      active: 0,
      lastProcessedAt: undefined,
    })
    expect(recorder.count('eventProcessed')).toBe(0)
    expect(recorder.of('consumerPaused')).toEqual([{ channel: 'orders', name: 'orders', reason: 'ledger' }])
    expect(recorder.of('ledgerFailed')[0]).toMatchObject({ operation: 'claim', channel: 'orders' })
    // Ten at once at first, then one at a time: after 1, 2, 4, 8, 16 and 30 s.
    expect(asked).toBeLessThanOrEqual(10 + 6)
    expect(handled).toEqual([])

    ledger.claim = claim
    await clock.advance(31_000)
    expect(handled).toHaveLength(30)
    expect(consumer.health().paused).toEqual([])
    expect(recorder.count('consumerResumed')).toBe(1)
    expect(await letters()).toEqual([])
    await consumer.close()
  })

  it('B16: and hangs: the claim has 5 s, and a late answer is released again', async () => {
    const { consumer, publish, clock, ledger, handled, recorder } = setUp()
    const claim = ledger.claim.bind(ledger)
    const answer = Promise.withResolvers<void>()
    ledger.claim = async (...given) => {
      await answer.promise
      return claim(...given)
    }
    await consumer.start()
    await publish({ payload: 'x', idempotencyKey: 'k' })
    await clock.advance(5_200)
    expect(consumer.health()).toMatchObject({ paused: ['ledger'], active: 0 })
    expect(recorder.of('ledgerFailed')).toMatchObject([
      { operation: 'claim', error: { code: 'LAZARET_TIMEOUT' } },
    ])
    ledger.claim = claim
    answer.resolve()
    await clock.advance(2_000)
    expect(handled).toEqual(['x'])
    await consumer.close()
  })

  it('B16: and hangs at complete: the event is settled after bounded tries', async () => {
    const { consumer, publish, clock, ledger, handled, recorder } = setUp()
    ledger.complete = () => new Promise(() => {})
    await consumer.start()
    await publish('x')
    await clock.advance(60_000)
    expect(handled).toEqual(['x'])
    expect(recorder.of('eventProcessed')).toMatchObject([{ outcome: 'done' }])
    expect(recorder.of('ledgerFailed').every(({ operation }) => operation === 'complete')).toBe(true)
    await consumer.close()
  })

  it('B16: and hangs at release: the retry is not held up for more than 5 s', async () => {
    let attempts = 0
    const { consumer, publish, clock, ledger } = setUp({
      handle: async () => {
        if (++attempts === 1) throw new Error('once')
      },
    })
    ledger.release = () => new Promise(() => {})
    const claim = ledger.claim.bind(ledger)
    await consumer.start()
    await publish({ payload: 'x', idempotencyKey: 'k' })
    await clock.advance(5_200)
    expect(attempts).toBe(1)
    ledger.claim = async (handler, key, leaseMs) => claim(handler, `${key} again`, leaseMs)
    await clock.advance(60_000)
    expect(attempts).toBe(2)
    await consumer.close()
  })

  it('closing while it is away gives everything back in bounded time', async () => {
    const { consumer, publish, clock, ledger, recorder } = setUp()
    ledger.claim = async () => {
      throw new Error('ledger is down')
    }
    await consumer.start()
    await publish('a', 'b')
    await clock.advance(3_000)
    const closed = consumer.close({ graceMs: 1_000 })
    await clock.advance(0)
    await closed
    expect(recorder.of('eventProcessed').map(({ outcome }) => outcome)).toEqual(['released', 'released'])
  })
})
