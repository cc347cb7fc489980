import { describe, expect, it } from 'vitest'
import type { LazaretEvent } from '../../../../core/event/event.ts'
import type { AmqpMessage, AmqpProperties } from '../../connection/amqp.ts'
import { decode } from './event-codec.ts'
import { readOrigin, withLog } from './message-log.ts'

function foreign(content: string | Buffer, properties: AmqpProperties = {}): AmqpMessage {
  const fields = { deliveryTag: 1, redelivered: false, exchange: 'shop', routingKey: 'order.paid' }
  return { content: Buffer.from(content), properties, fields }
}

function read(message: AmqpMessage) {
  return decode(message, 'orders', readOrigin('rabbitmq', 'orders', message))
}

describe('messages of other programs', () => {
  it('P2: id, type, time and headers are taken from where AMQP has them', () => {
    const headers = { 'x-tries': 3, 'x-flag': true, 'x-list': ['a', 1], 'bad name': 'no', 'x-death': [{}] }
    const event = read(
      foreign('{"id":7}', {
        messageId: 'm-1',
        type: 'paid',
        timestamp: 1_700_000_000,
        contentType: 'application/json',
        headers,
      }),
    )
    expect(event).toMatchObject({
      id: 'm-1',
      idempotencyKey: 'm-1',
      type: 'paid',
      channel: 'orders',
      occurredAt: 1_700_000_000_000,
      payload: { id: 7 },
    })
    expect((event as LazaretEvent).headers).toEqual({ 'x-tries': '3', 'x-flag': 'true', 'x-list': '["a",1]' })
  })

  it('P2: without type and id it is named by its routing key and by what it says, each time the same', () => {
    const message = foreign('hello', { contentType: 'text/plain' })
    const event = read(message) as LazaretEvent
    expect(event).toMatchObject({ type: 'order.paid', payload: 'hello' })
    expect(event.id).toMatch(/^amqp-[0-9a-f]{32}$/)
    const again = {
      ...message,
      fields: { ...message.fields, exchange: '', routingKey: 'orders' },
      properties: withLog(
        message,
        readOrigin('rabbitmq', 'orders', message),
        { started: 1, ended: 1, history: [], isSuspected: false },
        { waitMs: 5, notBefore: 5 },
      ),
    }
    expect((read(again) as LazaretEvent).id).toBe(event.id)
    expect((read(foreign('hallo', { contentType: 'text/plain' })) as LazaretEvent).id).not.toBe(event.id)
  })

  it.each([
    ['{"a":1}', undefined, { a: 1 }],
    ['{"a":', undefined, new Uint8Array(Buffer.from('{"a":'))],
    ['[1]', 'application/problem+json; charset=utf-8', [1]],
    [Buffer.from([0xff, 0xfe]), 'text/plain', new Uint8Array([0xff, 0xfe])],
    [Buffer.from([1, 2]), 'application/x-protobuf', new Uint8Array([1, 2])],
  ] as const)('P2: %o as %s is a payload', (content, contentType, payload) => {
    expect(read(foreign(content as string, { contentType }))).toMatchObject({ payload })
  })

  it('P2: compressed content stays bytes', () => {
    const event = read(foreign('{}', { contentType: 'application/json', contentEncoding: 'gzip' }))
    expect(event).toMatchObject({ payload: new Uint8Array(Buffer.from('{}')) })
  })

  it('P2: what says it is JSON and is not, or claims to be ours and is not, is undecodable', () => {
    const broken = read(foreign('{"a":', { contentType: 'application/json' }))
    expect(broken).toMatchObject({ raw: new Uint8Array(Buffer.from('{"a":')) })
    expect((broken as { problem: string }).problem).not.toBe('')
    expect(read(foreign('1', { appId: 'lazaret/1' }))).toHaveProperty('raw')
  })

  it('P2: an undecodable message keeps its id and its headers', () => {
    const properties = {
      contentType: 'application/json',
      messageId: 'order-1',
      headers: { tenant: 'eu', no: 7 },
    }
    const broken = read(foreign('{"a":', properties))
    expect(broken).toMatchObject({ messageId: 'order-1', headers: { tenant: 'eu', no: '7' } })
  })

  it('P2: a CloudEvent is read as one', () => {
    const text = JSON.stringify({
      specversion: '1.0',
      id: 'c-1',
      source: '/shop',
      type: 'order.paid',
      data: { a: 1 },
    })
    expect(read(foreign(text, { contentType: 'application/cloudevents+json' }))).toMatchObject({
      id: 'c-1',
      source: '/shop',
      payload: { a: 1 },
      channel: 'orders',
    })
  })

  it.each([':', '_'])(
    'P2: a CloudEvent in binary mode is read as one, with the prefix cloudEvents%s',
    separator => {
      const attributes = { specversion: '1.0', id: 'c-1', source: '/shop', type: 'order.paid', subject: '17' }
      const headers = Object.fromEntries(
        Object.entries(attributes).map(([name, value]) => [`cloudEvents${separator}${name}`, value]),
      )
      expect(read(foreign('{"a":1}', { contentType: 'application/json', headers }))).toMatchObject({
        id: 'c-1',
        type: 'order.paid',
        source: '/shop',
        idempotencyKey: '/shop|c-1',
        headers: { 'ce-subject': '17' },
        payload: { a: 1 },
        channel: 'orders',
      })
    },
  )

  it('P2: a CloudEvent in binary mode keeps the other headers of its message, and compressed data as bytes', () => {
    const headers = {
      'cloudEvents:specversion': '1.0',
      'cloudEvents:id': 'c-1',
      'cloudEvents:source': '/shop',
      'cloudEvents:type': 'order.paid',
      traceparent: '00-1-2-03',
      tenant: 17,
    }
    const contentType = 'application/json'
    expect(read(foreign('7', { contentType, headers }))).toMatchObject({
      headers: { traceparent: '00-1-2-03', tenant: '17' },
      payload: 7,
    })
    expect(read(foreign('zipped', { contentType, contentEncoding: 'gzip', headers }))).toMatchObject({
      payload: new TextEncoder().encode('zipped'),
    })
  })
})
