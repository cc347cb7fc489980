import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { LazaretEvent } from '../../../../core/event/event.ts'
import { createIdSource } from '../../../../core/event/uuid.ts'
import { createFactory } from '../../../../testing/factories.ts'
import type { AmqpMessage, AmqpProperties } from '../../connection/amqp.ts'
import { decode, encodeEvent } from './event-codec.ts'
import { headerBytes, MAX_HEADER_BYTES } from './headers.ts'
import { letterProperties, readLetter } from './letter.ts'
import { addCrash, type MessageLog, readLog, readOrigin, withLog } from './message-log.ts'

const make = createFactory()
const NO_ATTEMPTS: MessageLog = { started: 0, ended: 0, history: [], isSuspected: false }

function messageOf(content: Buffer, properties: AmqpProperties, routingKey = 'orders'): AmqpMessage {
  return { content, properties, fields: { deliveryTag: 1, redelivered: false, exchange: '', routingKey } }
}

function sent(event: LazaretEvent, exchange = event.channel): AmqpMessage {
  const { content, properties } = encodeEvent(event, exchange)
  return messageOf(content, properties)
}

function read(message: AmqpMessage) {
  return decode(message, 'orders', readOrigin('rabbitmq', 'orders', message))
}

const json = fc.jsonValue({ maxDepth: 3 }).map(value => JSON.parse(JSON.stringify(value)))
const headerName = fc.oneof(
  fc.constantFrom('CC', 'BCC', 'x-death', 'lazaret-v', 'x-replayed'),
  fc.stringMatching(/^[a-z][a-z0-9-]{0,20}$/),
)
const event = fc.record({
  payload: fc.oneof(json, fc.uint8Array({ maxLength: 50 })),
  headers: fc.dictionary(headerName, fc.stringMatching(/^[ -~]{0,20}$/), {
    maxKeys: 6,
    noNullPrototype: true,
  }),
  key: fc.option(fc.stringMatching(/^[a-z]{1,10}$/), { nil: undefined }),
  source: fc.constantFrom(undefined, '/shop'),
  occurredAt: fc.option(fc.nat({ max: 2_000_000_000_000 }), { nil: undefined }),
})

describe('messages', () => {
  it('E9: an event reads back as it was written, whatever its headers are called', () => {
    fc.assert(
      fc.property(event, fc.constantFrom('orders', ''), (input, exchange) => {
        const written = make.event(input)
        expect(read(sent(written, exchange))).toEqual(written)
      }),
    )
  })

  it('E9: an event with nothing to say beyond its own has no header', () => {
    const { id, occurredAt, ...plain } = make.event()
    const event = { ...plain, id: createIdSource(() => 0.5)(occurredAt), occurredAt }
    const { properties } = sent({ ...event, idempotencyKey: event.id, headers: {} })
    expect(properties.headers).toBeUndefined()
    expect(properties).toMatchObject({ appId: 'lazaret/1', timestamp: Math.floor(occurredAt / 1_000) })
  })

  it('B8: what a message carries of its attempts reads back, and hides from the event', () => {
    const written = make.event()
    const message = sent(written)
    const history = [make.attempt(1), make.attempt(2)]
    const log = { started: 3, ended: 2, history, isSuspected: false }
    const origin = readOrigin('rabbitmq', 'orders', message)
    const again = messageOf(
      message.content,
      withLog(message, origin, log, { waitMs: 5, notBefore: 1_700_000_000_000 }),
      'orders.retry.5s',
    )
    expect(readLog(again.properties.headers ?? {})).toEqual(log)
    expect(readOrigin('rabbitmq', 'orders', again)).toEqual(origin)
    expect(read(again)).toEqual(written)
  })

  it('K10: a letter reads back whole, of an event and of a message that is not an event', () => {
    const message = sent(make.event())
    const letter = make.letter({ event: read(message) as LazaretEvent, channel: 'orders' })
    const properties = letterProperties(message.properties, read(message), letter)
    expect(readLetter(messageOf(message.content, properties))).toEqual(letter)

    const broken = messageOf(Buffer.from('{"no'), { contentType: 'application/json' })
    const raw = new Uint8Array(broken.content)
    const standIn = make.event({ id: 'undecodable-1', payload: raw })
    const other = make.letter({ event: standIn, channel: 'orders', reason: 'undecodable' })
    const kept = readLetter(
      messageOf(broken.content, letterProperties(broken.properties, read(broken), other)),
    )
    expect(kept).toEqual(other)
  })

  it('B8: headers never outgrow their frame; counts stay right when attempts have no room', () => {
    const attempts = Array.from({ length: 20 }, (_, index) => {
      const attempt = make.attempt(index + 1)
      return { ...attempt, failure: { ...attempt.failure!, message: 'm'.repeat(20_000) } }
    })
    const big = messageOf(Buffer.from('1'), { headers: { 'x-big': 'b'.repeat(110_000) } })
    const log = { started: 20, ended: 20, history: attempts, isSuspected: false }
    const { headers = {} } = withLog(big, {}, log, undefined)
    expect(headerBytes(headers)).toBeLessThan(MAX_HEADER_BYTES)
    expect(readLog(headers)).toMatchObject({ started: 20, ended: 20 })
    const letter = make.letter({ attempts, attemptCount: 20 })
    const withLetter = letterProperties({ headers }, letter.event, letter)
    expect(headerBytes(withLetter.headers ?? {})).toBeLessThan(MAX_HEADER_BYTES)
  })

  it('E9: an event whose headers are too large is refused before it is sent', () => {
    const headers = { a: 'x'.repeat(40_000), b: 'y'.repeat(40_000) }
    const large = { ...make.event(), headers }
    expect(() => encodeEvent(large, 'orders')).toThrow('move large values to the payload')
  })

  it('B8: the server’s record of our own retry steps does not grow with each of them', () => {
    const deaths = [
      { queue: 'orders.retry.5s', count: 3 },
      { queue: 'elsewhere', count: 1 },
    ]
    const message = messageOf(Buffer.from('1'), {
      headers: { 'x-death': deaths, 'x-first-death-queue': 'a' },
    })
    const { headers = {} } = withLog(message, {}, NO_ATTEMPTS, undefined)
    expect(headers['x-death']).toEqual([deaths[1]])
    expect(headers).not.toHaveProperty('x-first-death-queue')
  })

  it('B8: the first death of a suspect that was alone also explains the one that made it a suspect', () => {
    const once = addCrash({ ...NO_ATTEMPTS, isSuspected: true })
    expect(once).toMatchObject({ started: 2, ended: 0, isSuspected: true })
    expect(addCrash(once).started).toBe(3)
    const { headers = {} } = withLog(messageOf(Buffer.from('1'), {}), {}, once, undefined)
    expect(readLog(headers)).toEqual(once)
  })
})
