import { describe, expect, it } from 'vitest'
import { consumerWorld as world } from '../../../test/support/consumer-world.ts'
import { fromCloudEvent } from '../../core/event/cloudevents.ts'
import { fixed } from '../../core/retry/fixed.ts'
import { FakeClock } from '../../testing/fake-clock.ts'
import { sleep } from '../sleep.ts'

const slowly = { attempts: 4, backoff: fixed({ delayMs: 5_000, jitter: 'none' }) } as const

/** A consumer whose handler ignores its signal, and what it was seen to do. */
function setUp(take: (payload: unknown, run: number) => Promise<unknown>, options: object = {}) {
  const clock = (options as { clock?: FakeClock }).clock ?? new FakeClock()
  const seen = { runs: 0, effects: 0, atOnce: 0, most: 0 }
  const handle = async ({ payload }: { readonly payload: unknown }) => {
    const run = ++seen.runs
    seen.most = Math.max(seen.most, ++seen.atOnce)
    try {
      await take(payload, run)
      seen.effects++
    } finally {
      seen.atOnce--
    }
  }
  const here = world({ clock, handle, timeoutMs: 200, breaker: 'off', ...options })
  return { ...here, seen }
}

describe('a late success of an event that was given up on', () => {
  const once = { retry: { attempts: 1 }, ordering: 'by-key' } as const
  const first = { payload: 'first', key: 'k' }
  const second = { payload: 'second', key: 'k' }

  it('B9, B15: lets the later events of its key go on', async () => {
    const end = Promise.withResolvers<void>()
    const { consumer, publish, clock, seen, letters } = setUp(
      async payload => payload === 'first' && end.promise,
      once,
    )
    await consumer.start()
    await publish(first, second)
    await clock.advance(5_000)
    expect(await letters()).toMatchObject([{ state: 'dead' }])
    expect(seen.runs).toBe(1)
    end.resolve()
    await clock.advance(5_000)
    expect(await letters()).toMatchObject([{ state: 'resolved' }])
    expect(seen).toMatchObject({ runs: 2, effects: 2 })
    await consumer.close()
  })

  it('B9, B15: also when it comes while the letter is being saved', async () => {
    const end = Promise.withResolvers<void>()
    const { consumer, publish, clock, seen, letters, deadLetters } = setUp(
      async payload => payload === 'first' && end.promise,
      once,
    )
    const send = deadLetters.send.bind(deadLetters)
    deadLetters.send = async letter => {
      await send(letter)
      end.resolve()
      await sleep(clock, 50)
    }
    await consumer.start()
    await publish(first, second)
    await clock.advance(10_000)
    expect(await letters()).toMatchObject([{ state: 'resolved' }])
    expect(seen).toMatchObject({ runs: 2, effects: 2 })
    await consumer.close()
  })

  it('B15: settles its own delivery and no copy of the event that is published later', async () => {
    const end = Promise.withResolvers<void>()
    const { consumer, publish, clock, seen, deadLetters } = setUp(() => end.promise, {
      retry: { attempts: 1 },
    })
    const send = deadLetters.send.bind(deadLetters)
    deadLetters.send = async letter => {
      end.resolve()
      await sleep(clock, 50)
      await send(letter)
    }
    const event = { payload: 'x', id: '01890000-0000-7000-8000-000000000001' }
    await consumer.start()
    await publish(event)
    await clock.advance(10_000)
    expect(seen).toMatchObject({ runs: 1, effects: 1 })
    await publish(event)
    await clock.advance(10_000)
    expect(seen).toMatchObject({ runs: 2, effects: 2 })
    await consumer.close()
  })

  it('B9, B15: also when it comes while the broker takes the event as dead', async () => {
    const end = Promise.withResolvers<void>()
    const { consumer, publish, clock, seen, letters, broker } = setUp(
      async payload => payload === 'first' && end.promise,
      once,
    )
    const subscribe = broker.subscribe.bind(broker)
    broker.subscribe = async (...given) => {
      const subscription = await subscribe(...given)
      const settle = subscription.settle.bind(subscription)
      subscription.settle = (delivery, settlement) => {
        if (settlement.outcome !== 'dead') return settle(delivery, settlement)
        end.resolve()
        return sleep(clock, 50).then(() => settle(delivery, settlement))
      }
      return subscription
    }
    await consumer.start()
    await publish(first, second)
    await clock.advance(10_000)
    expect(await letters()).toMatchObject([{ state: 'resolved' }])
    expect(seen).toMatchObject({ runs: 2, effects: 2 })
    await consumer.close()
  })
})

describe('a late success of an event that was put back', () => {
  it('B15: settles the retry also if that comes after the event has expired', async () => {
    const { consumer, publish, clock, seen, letters, recorder } = setUp(() => sleep(clock, 1_500), {
      retry: slowly,
    })
    await consumer.start()
    await publish({ payload: 'x', expiresAt: clock.now() + 3_000 })
    await clock.advance(20_000)
    expect(seen).toMatchObject({ runs: 1, effects: 1 })
    expect(await letters()).toEqual([])
    expect(recorder.of('eventProcessed').map(({ outcome }) => outcome)).toEqual(['retried', 'done'])
    await consumer.close()
  })

  it('B15: a second delivery of an event that runs is not given up on before the run has ended', async () => {
    const { consumer, publish, clock, seen, letters, broker } = setUp(() => sleep(clock, 150), {
      retry: { attempts: 1 },
    })
    const subscribe = broker.subscribe.bind(broker)
    broker.subscribe = (options, deliver, ...more) =>
      subscribe(
        options,
        delivery => {
          deliver(delivery)
          // The broker took the consumer for dead, and the record says that the only attempt has begun.
          deliver({ ...delivery, started: 1 })
        },
        ...more,
      )
    await consumer.start()
    await publish('x')
    await clock.advance(100)
    expect(seen).toMatchObject({ runs: 1, effects: 0 })
    expect(await letters()).toEqual([])
    const closing = consumer.close()
    await clock.advance(10_000)
    await closing
  })
})

describe('a late success of a foreign event', () => {
  it('B15, E9: does not settle an event of another source with the same id', async () => {
    const end = Promise.withResolvers<void>()
    const { consumer, broker, clock, seen } = setUp(
      async payload => (payload as { from: string }).from === '/eu' && end.promise,
      { retry: slowly },
    )
    await consumer.start()
    const foreign = (source: string) =>
      fromCloudEvent(
        { specversion: '1.0', id: '7', source, type: 'order.placed', data: { from: source } },
        { channel: 'orders', occurredAt: 1 },
      )
    await broker.publish([foreign('/eu'), foreign('/us')])
    await clock.advance(1_000)
    expect(seen).toMatchObject({ runs: 2, effects: 1 })
    end.resolve()
    await clock.advance(20_000)
    expect(seen).toMatchObject({ runs: 2, effects: 2 })
    await consumer.close()
  })
})
