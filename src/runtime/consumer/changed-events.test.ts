import { describe, expect, it } from 'vitest'
import { consumerWorld as world } from '../../../test/support/consumer-world.ts'
import { memoryDeadLetters } from '../../adapters/memory/index.ts'
import { PermanentError } from '../../core/failure/signals.ts'
import { fixed } from '../../core/retry/fixed.ts'
import type { StandardSchema } from '../../ports/schema.ts'
import { FakeClock } from '../../testing/fake-clock.ts'
import { withDeadLetters } from './with-dead-letters.ts'

interface Order {
  lines: { sku: string; count: number }[]
  card?: string
}

const order = (): Order => ({ lines: [{ sku: 'a', count: 1 }, { sku: 'b', count: 2 }], card: '4111' }) // biome-ignore format: one order
const quick = { attempts: 2, backoff: fixed({ delayMs: 10, jitter: 'none' }) }

/** Works through an order as careless code does, and fails in the middle. */
function consume(payload: Order): never {
  delete payload.card
  const line = payload.lines.shift()
  if (line !== undefined) line.count = 0
  throw new Error('The stock is locked.')
}

describe('a handler that changes its event', () => {
  it('P2: finds the original at the next attempt, and the letter has the original', async () => {
    const seen: unknown[] = []
    const { consumer, publish, clock, letters } = world({
      retry: quick,
      handle: event => {
        seen.push(structuredClone(event))
        const open = event as { id: string; headers: Record<string, string>; payload: Order }
        open.headers['tenant'] = 'changed'
        open.id = 'changed'
        consume(open.payload)
      },
    })
    await consumer.start()
    const headers = { tenant: 'acme' }
    await publish({ id: 'order-1', headers, payload: order() })
    await clock.advance(10_000)
    const original = expect.objectContaining({ id: 'order-1', headers, payload: order() })
    expect(seen).toEqual([original, original])
    expect((await letters()).map(({ event }) => event)).toEqual([original])
    await consumer.close()
  })

  it('P2: bytes of a payload are its own copy too', async () => {
    const { consumer, publish, letters, clock } = world({
      handle: ({ payload }) => {
        ;(payload as Uint8Array).fill(0)
        throw new PermanentError('The signature is wrong.')
      },
    })
    await consumer.start()
    await publish({ payload: new Uint8Array([1, 2]) }, { payload: Buffer.from([1, 2]) })
    await clock.advance(10)
    const payloads = (await letters()).map(({ event }) => [...(event.payload as Uint8Array)])
    expect(payloads).toEqual([[1, 2], [1, 2]]) // biome-ignore format: one list
    await consumer.close()
  })

  it('P2: so does a schema that changes what it checks, and each attempt gets what the schema makes', async () => {
    const seen: unknown[] = []
    const schema = {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate(value: Order & { checked?: boolean }) {
          value.checked = true
          return { value }
        },
      },
    } as unknown as StandardSchema
    const { consumer, publish, clock, letters } = world({
      retry: quick,
      schema,
      handle: ({ payload }) => {
        seen.push(structuredClone(payload))
        consume(payload as Order)
      },
    })
    await consumer.start()
    await publish({ payload: order() })
    await clock.advance(10_000)
    expect(seen).toEqual([{ ...order(), checked: true }, { ...order(), checked: true }]) // biome-ignore format: one list
    expect((await letters()).map(({ event }) => event.payload)).toEqual([order()])
    await consumer.close()
  })

  it('P2: the letter of another client has the message as it came', async () => {
    const deadLetters = memoryDeadLetters()
    const clock = new FakeClock()
    const safe = withDeadLetters(consume, { source: 'orders', retry: { attempts: 1 }, deadLetters, clock })
    await safe(order())
    const { letters } = await deadLetters.list()
    expect(letters.map(({ event }) => event.payload)).toEqual([order()])
  })

  it('P2: a message that cannot be copied is kept as far as possible, and handled', async () => {
    const deadLetters = memoryDeadLetters()
    const clock = new FakeClock()
    const handled: unknown[] = []
    const handler = (message: unknown) => {
      handled.push(message)
      throw new PermanentError('no')
    }
    const safe = withDeadLetters(handler, { source: 'orders', deadLetters, clock })
    const circle: { self?: unknown } = {}
    circle.self = circle
    const broken = { get half() { throw new Error('no') } } // biome-ignore format: one value
    const messages = [circle, broken, new Map([['a', 1]]), null]
    for (const message of messages) await safe(message)
    expect(handled).toEqual(messages)
    expect((await deadLetters.list()).letters).toHaveLength(messages.length)
  })
})
