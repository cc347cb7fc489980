import { expect, it } from 'vitest'
import type { AmqpHeaders, AmqpMessage } from '../../connection/amqp.ts'
import { OWN } from '../wire/headers.ts'
import { HeldMessages } from './held-messages.ts'

function message(messageId: string, headers: AmqpHeaders): AmqpMessage {
  const fields = { deliveryTag: 1, redelivered: true, exchange: '', routingKey: 'q.held' }
  return { content: Buffer.alloc(0), fields, properties: { messageId, headers } }
}

const copy = (id: string, place: number) => message(id, { [OWN.place]: place })
const mark = (id: string, place: number) => message('mark', { [OWN.place]: place, [OWN.deadEvent]: id })
const request = (id: string, queue?: string) =>
  message('request', { [OWN.unblockKey]: id, ...(queue === undefined ? {} : { [OWN.unblockQueue]: queue }) })

it('B9: only what a later owner needs stays unsettled, however many messages there are', () => {
  const held = new HeldMessages('q')
  const first = copy('waits', 1)
  const second = copy('waits', 1)
  const dead = mark('dead', 2)
  const unblock = request('dead', 'q')
  expect([first, second, dead].map(each => held.add(each))).toEqual([[], [first], []])
  expect(held.add(request('dead', 'q.of-another'))).toHaveLength(1)
  expect(held.add(request('of another handler'))).toHaveLength(1)
  expect(held.add(unblock)).toEqual([dead, unblock])
  const early = request('waits')
  expect(held.add(early)).toEqual([])
  expect([...held.newest]).toEqual([[1, second]])
  expect(held.requests).toEqual([early])
})

it('B9: an event whose place was given away is kept, and one that is published again is not unblocked', () => {
  const held = new HeldMessages('q')
  const unknown = copy('unknown', 1)
  const later = copy('later', 1)
  expect([unknown, later].map(each => held.add(each))).toEqual([[], []])
  expect([held.newest.get(1), held.displaced]).toEqual([later, [unknown]])
  const dead = mark('again', 2)
  const live = copy('again', 2)
  expect([dead, live].map(each => held.add(each))).toEqual([[], [dead]])
  expect(held.add(request('again', 'q'))).toEqual([])
  expect(held.newest.get(2)).toBe(live)
})
