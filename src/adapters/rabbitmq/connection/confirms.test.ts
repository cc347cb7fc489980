import { EventEmitter } from 'node:events'
import { expect, it } from 'vitest'
import { yieldToEventLoop } from '../../../ports/clock.ts'
import { FakeClock } from '../../../testing/fake-clock.ts'
import type { Outgoing } from '../broker/wire/event-codec.ts'
import type { AmqpConfirmChannel } from './amqp.ts'
import { Backpressure, Confirms } from './confirms.ts'

const TIMEOUT_MS = 1_000

/** A channel that shows its insides, as the client's does. */
class FakeChannel extends EventEmitter {
  readonly ch = 1
  /** In the order of their tags. */
  readonly waiting: ((error: unknown) => void)[] = []
  readonly written: string[] = []
  hasRoom = true
  isClosed = false
  readonly connection = {
    frameMax: 131_072,
    sentSinceLastCheck: false,
    channels: [undefined, { channel: this, buffer: { write: (bytes: Buffer) => this.#take(bytes) } }],
  }

  #take(bytes: Buffer): boolean {
    this.written.push(`together: ${[...bytes.toString('latin1').matchAll(/<(\w+)>/g)].map(([, n]) => n)}`)
    return this.hasRoom
  }

  pushConfirmCallback(confirmed: (error: unknown) => void): void {
    this.waiting.push(confirmed)
  }

  publish(_: string, __: string, content: Buffer, ___: object, confirmed: (error: unknown) => void): boolean {
    this.written.push(`alone: ${content.toString().slice(1, -1)}`)
    this.waiting.push(confirmed)
    return this.hasRoom
  }

  async close(): Promise<void> {
    this.isClosed = true
  }
}

function world() {
  const channel = new FakeChannel()
  const clock = new FakeClock()
  const backpressure = new Backpressure()
  const confirms = new Confirms(
    channel as unknown as AmqpConfirmChannel,
    backpressure,
    { clock, confirmTimeoutMs: TIMEOUT_MS },
    (_, error) => error,
  )
  return { channel, clock, backpressure, confirms }
}

function message(name: string, properties: Outgoing['properties'] = {}): Outgoing {
  const route = { exchange: '', routingKey: 'q' }
  return { route, content: Buffer.from(`<${name}>`), properties: { deliveryMode: 2, ...properties } }
}

it('F1: messages of one turn are written together, and messages that only the client can write keep their position', async () => {
  const { channel, confirms } = world()
  const told: string[] = []
  for (const each of [message('a'), message('b'), message('c', { expiration: '1000' }), message('d')])
    void confirms.send([each]).then(() => told.push(each.content.toString()))
  await yieldToEventLoop()
  expect(channel.written).toEqual(['together: a,b', 'alone: c', 'together: d'])
  for (const confirmed of channel.waiting) confirmed(null)
  await yieldToEventLoop()
  expect(told).toEqual(['<a>', '<b>', '<c>', '<d>'])
})

it('F1: a channel that ends tells all who wait', async () => {
  const { channel, confirms } = world()
  const sending = confirms.send([message('a')])
  channel.emit('close')
  await expect(sending).rejects.toThrow('the channel closed')
  expect(confirms.isOpen).toBe(false)
})

it('F1: a batch that stands still is given up with its channel', async () => {
  const { channel, clock, confirms } = world()
  const sending = expect(confirms.send([message('a'), message('b')])).rejects.toThrow(
    'no confirmation within 1000 ms',
  )
  await clock.advance(900)
  channel.waiting[0]?.(null)
  await clock.advance(900)
  expect(channel.isClosed).toBe(false)
  await clock.advance(100)
  await sending
  expect(channel.isClosed).toBe(true)
})

it.each([3_600_000, -3_600_000])(
  'F1: a batch has its time, also when the clock is set by %i ms',
  async ms => {
    const { channel, clock, confirms } = world()
    const ends: string[] = []
    const note = (end: string) => () => void ends.push(end)
    void confirms.send([message('a')]).then(note('confirmed'))
    await clock.advance(TIMEOUT_MS / 2)
    void confirms.send([message('b')]).then(note('confirmed'), note('given up'))
    await yieldToEventLoop()
    clock.jump(ms)
    await clock.advance(TIMEOUT_MS / 4)
    channel.waiting[0]!(null)
    await clock.advance(TIMEOUT_MS / 2)
    expect(ends).toEqual(['confirmed'])
    await clock.advance(TIMEOUT_MS)
    expect(ends).toEqual(['confirmed', 'given up'])
  },
)

it('B7: a channel that a full queue refuses is left after a second, because the server may refuse it for good', async () => {
  const { channel, clock, confirms } = world()
  const refuse = async () => {
    const refused = expect(confirms.send([message('a')])).rejects.toMatchObject({
      code: 'LAZARET_BROKER_FULL',
    })
    await yieldToEventLoop()
    channel.waiting.at(-1)?.(new Error('message nacked'))
    await refused
  }
  await refuse()
  expect([confirms.isOpen, channel.isClosed]).toEqual([true, false])
  await clock.advance(1_001)
  await refuse()
  expect([confirms.isOpen, channel.isClosed]).toEqual([false, true])
})

it('F1: what waits behind others is not late while the server speaks of these, and comes before those who came later', async () => {
  const { channel, clock, confirms } = world()
  channel.hasRoom = false
  const first = confirms.send([message('a')])
  await yieldToEventLoop()
  const behind = confirms.send([message('b')])
  for (let time = 0; time < 5; time++) {
    await clock.advance(900)
    const other = confirms.send([message(`x${time}`)])
    void other.catch(() => {})
    if (time === 0) channel.waiting[0]?.(null)
    else channel.waiting[0]?.(new Error('said again'))
  }
  await first
  channel.hasRoom = true
  channel.emit('drain')
  await yieldToEventLoop()
  expect(channel.written[1]).toBe('together: b,x0,x1,x2,x3,x4')
  channel.waiting[1]?.(null)
  expect(await behind).toEqual([])
})
