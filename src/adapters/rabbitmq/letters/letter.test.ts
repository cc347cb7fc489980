import { describe, expect, it } from 'vitest'
import { FailureCache } from '../../../adapter-kit/collecting/failure-cache.ts'
import { mergeLetter } from '../../../core/dead-letter/merge.ts'
import { REPLAY_HEADERS } from '../../../core/event/replay-headers.ts'
import type { AmqpHeaders, AmqpMessage, AmqpProperties } from '../connection/amqp.ts'
import { collect } from './letter.ts'
import { returned } from './returned-message.ts'

const NOW = Date.parse('2026-02-01T12:00:00Z')
const DIED_AT = 1_769_860_800
const DEATH = {
  count: 1,
  exchange: 'shop',
  queue: 'orders',
  reason: 'rejected',
  'routing-keys': ['order.paid', 'audit'],
  time: { '!': 'timestamp', value: DIED_AT },
}

function found(content: string | Buffer, properties: AmqpProperties = {}, redelivered = false): AmqpMessage {
  const fields = { deliveryTag: 1, redelivered, exchange: 'orders.dlx', routingKey: 'orders' }
  return { content: Buffer.from(content), properties, fields }
}

function read(message: AmqpMessage, queue = 'orders.dlq', now = NOW) {
  return collect(message, { broker: 'rabbitmq', queue, now, failures: new FailureCache() }).letter
}

function withHeaders(headers: AmqpHeaders, properties: AmqpProperties = {}): AmqpMessage {
  return found('{"id":7}', { contentType: 'application/json', messageId: 'm-1', ...properties, headers })
}

describe('a message that the server dead-lettered', () => {
  it('P2: tells where it failed, how and when, and keeps the way back', () => {
    const letter = read(withHeaders({ 'x-death': [DEATH], 'x-first-death-queue': 'orders', tenant: 'eu' }))
    expect(letter).toMatchObject({
      channel: 'orders',
      handler: 'orders',
      state: 'dead',
      event: { id: 'm-1', type: 'order.paid', payload: { id: 7 }, headers: { tenant: 'eu' } },
      origin: {
        broker: 'rabbitmq',
        queue: 'orders',
        exchange: 'shop',
        routingKey: 'order.paid',
        collectedFrom: 'orders.dlq',
        contentType: 'application/json',
      },
      cycle: {
        number: 0,
        reason: 'collected',
        failure: {
          name: 'DeadLettered',
          code: 'rejected',
          message: 'was rejected from queue orders',
        },
        attemptCount: 1,
        firstFailedAt: DIED_AT * 1_000,
        lastFailedAt: DIED_AT * 1_000,
      },
    })
    expect(letter.event.headers).not.toHaveProperty('x-death')
  })

  it('P2: one that expired says so, and the latest of several deaths is the one', () => {
    const parked = { ...DEATH, queue: 'orders.wait', reason: 'expired', count: 3, exchange: '' }
    const { handler, cycle, detail } = read(withHeaders({ 'x-death': [parked, DEATH] }))
    expect({ handler, reason: cycle.reason }).toEqual({ handler: 'orders.wait', reason: 'expired' })
    expect(detail).toMatchObject({ deaths: [{ reason: 'expired', count: 3 }, { queue: 'orders' }] })
  })

  it('P2: a second delivery is the same letter, with or without a message id', () => {
    const first = { 'x-death': [DEATH] }
    const again = { ...first, 'x-delivery-count': 1 }
    for (const messageId of ['m-1', undefined]) {
      const letter = read(found('hello', { messageId, headers: first }))
      const second = read(found('hello', { messageId, headers: again }, true), 'orders.dlq', NOW + 60_000)
      expect(second.id).toBe(letter.id)
      expect(mergeLetter(letter, second)).toEqual(letter)
    }
  })

  it('P2: without a message id, what differs in body, way, queue or time of death is another letter', () => {
    const one = (content: string, death: object) =>
      read(found(content, { headers: { 'x-death': [{ ...DEATH, ...death }] } })).id
    const later = { time: { '!': 'timestamp', value: DIED_AT + 1 } }
    const ids = [
      one('a', {}),
      one('b', {}),
      one('a', { queue: 'bills' }),
      one('a', { 'routing-keys': ['x'] }),
      one('a', later),
    ]
    expect(new Set(ids).size).toBe(ids.length)
  })

  it('P2: a queue may be called anything', () => {
    const letter = read(withHeaders({ 'x-death': [{ ...DEATH, queue: 'Shop:Orders/é..v2' }] }))
    expect(letter).toMatchObject({ channel: 'Shop-Orders--.v2', handler: 'Shop:Orders/é..v2' })
  })

  it.each([
    ['{"id":12345678901234567890}', 'bytes'],
    ['{"price":0.1234567890123456789}', 'bytes'],
    ['{"card":"4111111111111111","a":1.50,"b":1e3}', 'json'],
    ['{"a":', 'bytes'],
    ['[1, 2]', 'json'],
  ])('P2: %s comes back as it was', (content, kind) => {
    const letter = read(found(content, { contentType: 'application/json', headers: { 'x-death': [DEATH] } }))
    expect(letter.event.payload instanceof Uint8Array).toBe(kind === 'bytes')
    const sent = returned(letter.event, letter.origin, 'exchange').content.toString()
    if (kind === 'bytes') expect(sent).toBe(content)
    else expect(JSON.parse(sent)).toEqual(JSON.parse(content))
  })
})

/** A replay as the runner makes it of a letter. */
function replayed(letter: ReturnType<typeof read>, cycle: number) {
  const headers = {
    ...letter.event.headers,
    [REPLAY_HEADERS.replayed]: 'true',
    [REPLAY_HEADERS.originalId]: letter.event.id,
    [REPLAY_HEADERS.letterId]: letter.id,
    [REPLAY_HEADERS.replayId]: 'replay-1',
    [REPLAY_HEADERS.replayAttempt]: String(cycle),
    [REPLAY_HEADERS.handler]: letter.handler,
  }
  return { ...letter.event, headers }
}

describe('a collected letter that is replayed', () => {
  it('K8: goes back by exchange and routing key, with its properties and the types of its headers', () => {
    const headers = { 'x-death': [DEATH], tries: 3, ok: true, nested: { a: [1, 'b'] }, tenant: 'eu' }
    const letter = read(
      withHeaders(headers, { correlationId: 'c-1', type: 'paid', priority: 4, appId: 'shop' }),
    )
    const { route, content, properties } = returned(replayed(letter, 1), letter.origin, 'exchange')
    expect(route).toEqual({ exchange: 'shop', routingKey: 'order.paid' })
    expect(content.toString()).toBe('{"id":7}')
    expect(properties).toMatchObject({
      messageId: 'm-1',
      correlationId: 'c-1',
      type: 'paid',
      priority: 4,
      appId: 'shop',
      contentType: 'application/json',
      deliveryMode: 2,
      headers: { tries: 3, ok: true, nested: { a: [1, 'b'] }, tenant: 'eu', 'x-replayed': 'true' },
    })
    expect(properties.headers).not.toHaveProperty('x-death')
    expect(returned(replayed(letter, 1), letter.origin, 'queue').route).toEqual({
      exchange: '',
      routingKey: 'orders',
    })
  })

  it.each(['m-1', undefined])(
    'K8: one with id %s that comes back is the next cycle of the same letter',
    messageId => {
      const letter = read(found('hello', { messageId, headers: { 'x-death': [DEATH] } }))
      const { content, properties } = returned(replayed(letter, 1), letter.origin, 'exchange')
      const time = { '!': 'timestamp', value: DIED_AT + 100 }
      const back = read({
        ...found(content, {
          ...properties,
          headers: { ...properties.headers, 'x-death': [{ ...DEATH, time }] },
        }),
      })
      expect(back).toMatchObject({ id: letter.id, cycle: { number: 1, replayId: 'replay-1' }, state: 'dead' })
      const merged = mergeLetter(letter, back)
      expect(merged.endedCycles).toHaveLength(1)
      expect(merged.event).toEqual(letter.event)
      const elsewhere = read({
        ...found(content, {
          ...properties,
          headers: { ...properties.headers, 'x-death': [{ ...DEATH, queue: 'audit' }] },
        }),
      })
      expect(elsewhere).toMatchObject({ channel: 'audit', cycle: { number: 0 } })
    },
  )
})

describe('a message that a framework gave up on', () => {
  it('P2: Spring AMQP', () => {
    const stack = [
      'org.springframework.amqp.rabbit.support.ListenerExecutionFailedException: Listener method threw exception',
      '\tat org.springframework.amqp.rabbit.listener.adapter.MessagingMessageListenerAdapter.invoke(X.java:246)',
      'Caused by: com.acme.billing.CardDeclinedException: card declined for order 17',
      '\tat com.acme.billing.Billing.charge(Billing.java:42)',
      '\t... 14 more',
    ].join('\n')
    const letter = read(
      withHeaders({
        'x-exception-stacktrace': stack,
        'x-exception-message': 'card declined for order 17',
        'x-original-exchange': 'shop',
        'x-original-routingKey': 'order.paid',
        __TypeId__: 'com.acme.OrderPaid',
      }),
    )
    expect(letter).toMatchObject({
      channel: 'orders',
      origin: { exchange: 'shop', routingKey: 'order.paid', writtenBy: 'spring' },
      cycle: {
        reason: 'collected',
        failure: { name: 'com.acme.billing.CardDeclinedException', message: 'card declined for order 17' },
      },
      event: { headers: { __TypeId__: 'com.acme.OrderPaid' } },
    })
    expect(Object.keys(letter.event.headers)).toEqual(['__TypeId__'])
  })

  it('P2: MassTransit', () => {
    const headers = {
      'MT-Reason': 'fault',
      'MT-Fault-ExceptionType': 'System.InvalidOperationException',
      'MT-Fault-Message': 'Budget exceeded',
      'MT-Fault-StackTrace': '   at Acme.Billing.Charge()',
      'MT-Fault-Timestamp': '2026-01-20T16:30:00.0000000Z',
      'MT-Fault-InputAddress': 'rabbitmq://localhost/shop/submit-order?durable=true',
      'MT-Fault-ConsumerType': 'Acme.SubmitOrderConsumer',
      'MT-Fault-MessageType': 'Acme.SubmitOrder',
      'MT-Fault-RetryCount': 3,
      'MT-Activity-Id': '00-abc-def-01',
    }
    const message = withHeaders(headers, { contentType: 'application/vnd.masstransit+json' })
    const letter = read(message, 'submit-order_error')
    expect(letter).toMatchObject({
      channel: 'submit-order',
      handler: 'submit-order',
      origin: { exchange: '', routingKey: 'submit-order', writtenBy: 'masstransit' },
      event: { payload: { id: 7 } },
      cycle: {
        attemptCount: 4,
        lastFailedAt: Date.parse('2026-01-20T16:30:00Z'),
        failure: { name: 'System.InvalidOperationException', message: 'Budget exceeded' },
      },
    })
    expect(letter.event.headers).toEqual({ 'MT-Activity-Id': '00-abc-def-01' })
    const skipped = read(withHeaders({ 'MT-Reason': 'dead-letter' }), 'submit-order_skipped')
    expect(skipped).toMatchObject({ handler: 'submit-order', cycle: { failure: { name: 'MassTransit' } } })
  })

  it('P2: NServiceBus', () => {
    const headers = {
      'NServiceBus.MessageId': '2937a3e5-7a19-46a2-8d31-b4d500ad0478',
      'NServiceBus.EnclosedMessageTypes': 'Acme.PlaceOrder, Acme.Messages',
      'NServiceBus.ExceptionInfo.ExceptionType': 'System.Exception',
      'NServiceBus.ExceptionInfo.Message': 'An error occurred',
      'NServiceBus.ExceptionInfo.Source': 'NServiceBus.Core',
      'NServiceBus.ExceptionInfo.StackTrace': '   at Acme.Handler.Handle()',
      'NServiceBus.FailedQ': 'Sales',
      'NServiceBus.TimeOfFailure': '2014-11-11 02:26:58:000462 Z',
    }
    const letter = read(withHeaders(headers), 'error')
    expect(letter).toMatchObject({
      channel: 'Sales',
      origin: { exchange: '', routingKey: 'Sales', writtenBy: 'nservicebus', collectedFrom: 'error' },
      cycle: {
        lastFailedAt: Date.parse('2014-11-11T02:26:58.000Z'),
        failure: { name: 'System.Exception', message: 'An error occurred' },
      },
    })
    expect(Object.keys(letter.event.headers).sort()).toEqual([
      'NServiceBus.EnclosedMessageTypes',
      'NServiceBus.MessageId',
    ])
  })

  it('P2: nobody says anything: the name of the queue is all there is', () => {
    const { letter, isTimeKnown } = collect(found('\0\xff', {}), {
      broker: 'r',
      queue: 'bills.DLQ',
      now: NOW,
      failures: new FailureCache(),
    })
    expect(isTimeKnown).toBe(false)
    expect(letter).toMatchObject({
      channel: 'bills',
      origin: { exchange: '', routingKey: 'bills' },
      cycle: { failure: undefined, reason: 'collected', lastFailedAt: NOW },
    })
  })
})
