import { describe, expect, it } from 'vitest'
import { changed } from '../../../test/support/conformance.ts'
import { consumerWorld } from '../../../test/support/consumer-world.ts'
import { memoryBroker } from '../../adapters/memory/index.ts'
import { SealError } from '../../core/event/errors.ts'
import type { Delivery, Undecodable } from '../../ports/broker.ts'
import { createFactory } from '../../testing/factories.ts'
import { FakeClock } from '../../testing/fake-clock.ts'
import { seededRandom } from '../../testing/seeded-random.ts'
import { Work } from './work.ts'

const LONG = 'x'.repeat(5_000)
const bytes = (text: string) => new TextEncoder().encode(text)

function idOf(content: Partial<Undecodable>, queue = 'orders'): string {
  const message: Undecodable = { raw: bytes('{"a":'), problem: 'it ends too early', ...content }
  const delivery = { channel: 'orders', content: message, started: 0, ended: 0, history: [] }
  return new Work({ ...delivery, origin: { broker: 'rabbitmq', queue } } as Delivery).event.id
}

describe('the letter of an undecodable message', () => {
  it('P2: two messages that differ in any way have two letters', () => {
    const ids = [
      idOf({ raw: bytes(`${LONG} total 100`) }),
      idOf({ raw: bytes(`${LONG} total 999`) }),
      idOf({ messageId: 'order-1' }),
      idOf({ messageId: 'order-2' }),
      idOf({}),
      idOf({}, 'bills'),
    ]
    expect(new Set(ids).size).toBe(ids.length)
  })

  it('P2: each delivery of one message has the same letter, whatever headers a server adds on its way', () => {
    const message = { raw: bytes(LONG), messageId: 'order-1' }
    expect(idOf({ ...message, headers: { 'x-death': '1' } })).toBe(idOf(message))
  })

  it('P2: it has the headers of the message', () => {
    const content = { raw: bytes('{'), problem: 'no', headers: { tenant: 'eu' } }
    const delivery = {
      channel: 'orders',
      content,
      started: 0,
      ended: 0,
      history: [],
      origin: { broker: 'b' },
    }
    expect(new Work(delivery as unknown as Delivery).event.headers).toEqual({ tenant: 'eu' })
  })
})

describe('a sealed message whose key is missing', () => {
  it('K9: stays in the broker for a process that has the key, and health counts it', async () => {
    const clock = new FakeClock()
    const whole = memoryBroker({ clock })
    const missingKey = new SealError('event e1', "is sealed with key 'k1', and no key is given")
    let hasKey = false
    const broker = changed(whole, () => ({
      subscribe: (options, deliver) => {
        const handOver = (delivery: Delivery) => {
          const content = { raw: bytes('{"sealed":'), problem: missingKey.message, missingKey }
          deliver(hasKey ? delivery : changed(delivery, () => ({ content })))
        }
        return whole.subscribe(options, handOver)
      },
    }))
    const handled: string[] = []
    const { consumer, recorder, deadLetters } = consumerWorld({
      clock,
      broker,
      handle: async ({ id }) => void handled.push(id),
    })
    await consumer.start()
    const event = createFactory({ clock, random: seededRandom(1) }).event({ channel: 'orders' })
    await whole.publish([event])
    await clock.advance(0)
    expect(recorder.of('settlementFailed')).toMatchObject([{ error: missingKey }])
    expect(consumer.health().settlementFailures).toBe(1)
    hasKey = true
    await clock.advance(60_000)
    expect(handled).toEqual([event.id])
    expect((await deadLetters.list()).letters).toEqual([])
    await consumer.close()
  })
})
