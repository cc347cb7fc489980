import { expect, it } from 'vitest'
import { StallReporter } from '../../../../adapter-kit/delivery/stalls.ts'
import { createFactory } from '../../../../testing/factories.ts'
import type { AmqpMessage } from '../../connection/amqp.ts'
import { OWN } from '../wire/headers.ts'
import type { ConsumerChannel } from './consumer-channel.ts'
import { LostDeliveries, RabbitmqDelivery } from './delivery.ts'

const channel = {} as ConsumerChannel
const source = { broker: 'b', channel: 'c', handler: 'h', queue: 'q', stalls: new StallReporter() }
const make = createFactory()

function messageOf(log: object): AmqpMessage {
  const fields = { deliveryTag: 1, redelivered: true, exchange: '', routingKey: 'q' }
  const properties = { messageId: 'one', headers: { [OWN.log]: JSON.stringify(log) } }
  return { content: Buffer.from('{}'), fields, properties }
}

it('B8: a suspect is one until an attempt of it has ended', () => {
  const delivery = new RabbitmqDelivery(channel, messageOf({ started: 2, isSuspected: true }), source, true)
  delivery.recordEnds([])
  expect(delivery.log).toEqual({ started: 2, ended: 0, history: [], isSuspected: true })
  delivery.recordStart()
  delivery.recordEnds([make.attempt(3)])
  expect(delivery.log).toMatchObject({ started: 3, ended: 1, isSuspected: false })
  expect(delivery).toMatchObject({ started: 2, ended: 0, history: [] })
})

it('F5: what was open when the channel was lost comes back without a crash', () => {
  const lost = new LostDeliveries()
  const delivery = new RabbitmqDelivery(channel, messageOf({ started: 1, ended: 1 }), source, false)
  delivery.recordStart()
  lost.add(delivery)
  const again = new RabbitmqDelivery(channel, messageOf({ started: 1, ended: 1 }), source, false)
  expect(lost.take(again)).toMatchObject({ started: 1, ended: 1 })
  expect(lost.take(again)).toBeUndefined()
})

it.each([
  ['has begun it', { started: 2, ended: 0 }, false],
  ['has ended it', { started: 1, ended: 1 }, false],
  ['took it for a suspect', { started: 1, ended: 0, isSuspected: true }, true],
])(
  'B8: what was open when the channel was lost is forgotten if another process %s since',
  (_, log, isSuspect) => {
    const lost = new LostDeliveries()
    const delivery = new RabbitmqDelivery(channel, messageOf({ started: 1, ended: 0 }), source, false)
    delivery.recordStart()
    lost.add(delivery)
    expect(lost.take(new RabbitmqDelivery(channel, messageOf(log), source, isSuspect))).toBeUndefined()
  },
)

it('B8: a start that this process has recorded on the server does not count as a crash', () => {
  const lost = new LostDeliveries()
  const delivery = new RabbitmqDelivery(channel, messageOf({ started: 1, ended: 1 }), source, false)
  delivery.recordStart()
  lost.add(delivery, delivery.startedNow)
  const again = new RabbitmqDelivery(channel, messageOf({ started: 2, ended: 1 }), source, false)
  expect(lost.take(again)).toMatchObject({ started: 1, ended: 1 })
})
