import { describe, expect, it } from 'vitest'
import { refused } from '../../../test/support/consumer-world.ts'
import { memoryBroker, memoryDeadLetters } from '../../adapters/memory/index.ts'
import type { LazaretEvent } from '../../core/event/event.ts'
import { replayHeaders } from '../../core/event/replay-headers.ts'
import { PermanentError } from '../../core/failure/signals.ts'
import { fixed } from '../../core/retry/fixed.ts'
import { tiers } from '../../core/retry/tiers.ts'
import type { Sink } from '../../ports/sink.ts'
import { createFactory } from '../../testing/factories.ts'
import { FakeClock } from '../../testing/fake-clock.ts'
import { seededRandom } from '../../testing/seeded-random.ts'
import { createConsumer } from '../consumer/consumer.ts'
import { createRelay, type RelayOptions } from './relay.ts'

const every = (delayMs: number) => fixed({ delayMs, jitter: 'none' })

/** Relays of one channel on the memory adapters and a driven clock. */
function relayWorld() {
  const clock = new FakeClock()
  const random = seededRandom(7)
  const from = memoryBroker({ clock })
  const there = memoryBroker({ clock })
  const deadLetters = memoryDeadLetters()
  const make = createFactory({ clock, random })
  const arrived: LazaretEvent[] = []
  const relay = (options: Partial<RelayOptions> = {}) =>
    createRelay({
      from,
      channel: 'orders',
      name: 'to-there',
      to: there,
      deadLetters,
      clock,
      random,
      retry: { backoff: fixed({ delayMs: 1_000, jitter: 'none' }) },
      ...options,
    })
  const receive = async (channel = 'orders') => {
    const consumer = createConsumer({
      broker: there,
      deadLetters,
      channel,
      clock,
      random,
      handle: async event => void arrived.push(event),
    })
    await consumer.start()
    return consumer
  }
  return { clock, from, there, deadLetters, make, arrived, relay, receive }
}

describe('a relay', () => {
  it('S8: carries events to another broker with their id, idempotency key and key', async () => {
    const { from, make, arrived, relay, receive, clock } = relayWorld()
    const there = await receive()
    const here = relay()
    await here.start()
    const event = make.event({ channel: 'orders', idempotencyKey: 'charge-1', key: 'customer-1' })
    await from.publish([event])
    await clock.advance(0)
    expect(arrived).toEqual([event])
    await here.close()
    await there.close()
  })

  it('counts an event as delivered only when the receiver has confirmed it', async () => {
    const { from, make, relay, clock } = relayWorld()
    const confirmations: (() => void)[] = []
    const here = relay({ to: () => new Promise<void>(resolve => confirmations.push(resolve)) })
    await here.start()
    await from.publish([make.event({ channel: 'orders' })])
    await clock.advance(1_000)
    expect(await from.depth('orders', 'to-there')).toBe(1)
    confirmations[0]!()
    await clock.advance(0)
    expect(await from.depth('orders', 'to-there')).toBe(0)
    await here.close()
  })

  it('F1: retries, and gives up into a letter that a replay sends to the receiver as new', async () => {
    const { from, make, relay, clock, deadLetters, receive, arrived, there } = relayWorld()
    const far = await receive()
    const line = { isDown: true }
    const publish = there.publish.bind(there)
    const here = relay({
      to: async event => {
        if (line.isDown) throw new PermanentError('no such place')
        await publish([event])
      },
    })
    await here.start()
    const event = make.event({ channel: 'orders', headers: { tenant: 't1' } })
    await from.publish([event])
    await clock.advance(0)
    const [letter] = (await deadLetters.list()).letters
    expect(letter).toMatchObject({ handler: 'to-there', event: { id: event.id }, cycle: { attemptCount: 1 } })
    line.isDown = false
    await from.publish([{ ...event, headers: replayHeaders(event, { handler: 'to-there' }) }])
    await clock.advance(0)
    expect(arrived).toEqual([event])
    await here.close()
    await far.close()
  })

  it.each([
    ['by itself: 5 attempts, 1 s doubling, full jitter', undefined, [0, 500, 1_500, 3_500, 7_500]],
    ['with its own attempts', { attempts: 3 }, [0, 500, 1_500]],
    ['with an option that is undefined', { attempts: undefined }, [0, 500, 1_500, 3_500, 7_500]],
    ['with tiers, which say how many', { backoff: tiers([{ retries: 1, backoff: every(200) }]) }, [0, 200]],
  ])('S2: retries as an outbox does: %s', async (_, retry, expected) => {
    const { from, make, relay, clock } = relayWorld()
    const startedAt: number[] = []
    const here = relay({
      retry,
      breaker: 'off',
      random: () => 0.5,
      to: async () => {
        startedAt.push(clock.now())
        throw refused()
      },
    })
    await here.start()
    await from.publish([make.event({ channel: 'orders' })])
    await clock.advance(60 * 60_000)
    expect(startedAt.map(at => at - startedAt[0]!)).toEqual(expected)
    await here.close()
  })

  it('S2: waits at most 5 min, whatever the number of attempts', async () => {
    const { from, make, relay, clock } = relayWorld()
    const startedAt: number[] = []
    const here = relay({
      retry: { attempts: 12 },
      breaker: 'off',
      random: () => 0.999,
      to: async () => {
        startedAt.push(clock.now())
        throw refused()
      },
    })
    await here.start()
    await from.publish([make.event({ channel: 'orders' })])
    await clock.advance(60 * 60_000)
    const gaps = startedAt.slice(1).map((at, index) => at - startedAt[index]!)
    expect(gaps).toHaveLength(11)
    expect(Math.round(Math.max(...gaps) / 1_000)).toBe(300)
    await here.close()
  })

  it('E2: the status of an HTTP answer decides whether it is tried again', async () => {
    const { from, make, relay, clock, deadLetters } = relayWorld()
    const answers = [503, 429, 422]
    const here = relay({
      poison: 'off',
      to: async () => {
        const status = answers.shift()!
        throw Object.assign(new Error(`HTTP ${status}`), { status })
      },
    })
    await here.start()
    await from.publish([make.event({ channel: 'orders' })])
    await clock.advance(60_000)
    const [letter] = (await deadLetters.list()).letters
    expect(letter!.cycle).toMatchObject({
      attemptCount: 3,
      reason: 'permanent',
      failure: { message: 'HTTP 422' },
    })
    await here.close()
  })

  it('B6: stops consuming while the receiver fails, and loses nothing', async () => {
    const { from, make, relay, clock, deadLetters } = relayWorld()
    const line = { isDown: true, calls: 0, taken: 0 }
    const here = relay({
      breaker: { failures: 3, openMs: 10_000 },
      retry: { attempts: 20, backoff: fixed({ delayMs: 1_000, jitter: 'none' }) },
      poison: 'off',
      to: async () => {
        line.calls++
        if (line.isDown) throw refused()
        line.taken++
      },
    })
    await here.start()
    await from.publish(make.events(50, { channel: 'orders' }))
    await clock.advance(9_000)
    expect(line.calls).toBeLessThan(15)
    line.isDown = false
    await clock.advance(60_000)
    expect(line.taken).toBe(50)
    expect((await deadLetters.stats()).count).toBe(0)
    await here.close()
  })

  it('writes to a sink, and what that refuses fails alone', async () => {
    const { from, make, relay, clock, deadLetters } = relayWorld()
    const written: string[] = []
    const sink: Sink = {
      async write([event]) {
        if (event!.type === 'bad') return { rejected: [{ index: 0, error: new PermanentError('not taken') }] }
        written.push(event!.id)
        return undefined
      },
    }
    const here = relay({ to: sink })
    await here.start()
    const [good, bad] = [make.event({ channel: 'orders' }), make.event({ channel: 'orders', type: 'bad' })]
    await from.publish([bad, good])
    await clock.advance(0)
    expect(written).toEqual([good.id])
    expect((await deadLetters.list()).letters.map(({ event }) => event.id)).toEqual([bad.id])
    await here.close()
  })

  it('E17: a sink whose answer cannot be understood has not taken the event', async () => {
    const { from, make, relay, clock, deadLetters } = relayWorld()
    const sink = { write: async () => ({ rejected: [{ id: 'x', error: 'no' }] }) } as unknown as Sink
    const here = relay({ to: sink, retry: { attempts: 1 } })
    await here.start()
    await from.publish([make.event({ channel: 'orders' })])
    await clock.advance(0)
    const failure = { code: 'LAZARET_SINK_ANSWER_INVALID' }
    expect((await deadLetters.list()).letters).toMatchObject([{ cycle: { failure } }])
    await here.close()
  })

  it('sends to a channel of another name, and closes the receiver with its last user', async () => {
    const { from, there, make, relay, receive, clock, arrived } = relayWorld()
    const far = await receive('shop.orders')
    const here = relay({ toChannel: 'shop.orders' })
    await here.start()
    await from.publish([make.event({ channel: 'orders' })])
    await clock.advance(0)
    expect(arrived.map(({ channel }) => channel)).toEqual(['shop.orders'])
    await far.close()
    await there.publish([])
    await here.close()
    await expect(there.publish([])).rejects.toMatchObject({ code: 'LAZARET_BROKER_CLOSED' })
  })

  it('says what is wrong with its options', () => {
    const { from, relay } = relayWorld()
    expect(() => relay({ to: from })).toThrow(/relay\.to: .*another toChannel/s)
    expect(() => relay({ to: {} as never, name: '' })).toThrow(/relay\.name.*relay\.to/s)
    expect(() => relay({ ordering: 'sometimes' as never })).toThrow('ordering')
  })
})
