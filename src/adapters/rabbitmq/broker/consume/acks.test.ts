import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { AmqpChannel, AmqpMessage } from '../../connection/amqp.ts'
import { Acks } from './acks.ts'

function messageOf(deliveryTag: number): AmqpMessage {
  const fields = { deliveryTag, redelivered: false, exchange: '', routingKey: '' }
  return { content: Buffer.alloc(0), properties: {}, fields }
}

/** A server's view: which tags are open, and what an acknowledgement does to them. */
function server() {
  const open = new Set<number>()
  let calls = 0
  const ack = ({ fields }: AmqpMessage, allUpTo = false) => {
    calls++
    for (const tag of allUpTo ? [...open].filter(each => each <= fields.deliveryTag) : [fields.deliveryTag])
      if (!open.delete(tag)) throw new Error(`tag ${tag} is not open`)
  }
  return { open, ack, calls: () => calls }
}

it('E21: whatever the order of settling, exactly what was settled is acknowledged', () => {
  const rounds = fc.array(fc.array(fc.nat({ max: 30 }), { maxLength: 20 }), { maxLength: 8 })
  fc.assert(
    fc.property(rounds, chosen => {
      const { open, ack } = server()
      const acks = new Acks({ ack } as unknown as AmqpChannel)
      const mine = new Set<number>()
      let tag = 0
      for (const round of chosen) {
        for (let arrivals = 0; arrivals < 5; arrivals++) {
          open.add(++tag)
          mine.add(tag)
          acks.arrived(messageOf(tag))
        }
        for (const pick of round) if (mine.delete(pick)) acks.settled(messageOf(pick))
        acks.flush()
        expect([...open]).toEqual([...mine])
      }
    }),
  )
})

it('E21: a window that is settled whole takes one acknowledgement', () => {
  const { open, ack, calls } = server()
  const acks = new Acks({ ack } as unknown as AmqpChannel)
  for (let tag = 1; tag <= 100; tag++) {
    open.add(tag)
    acks.arrived(messageOf(tag))
  }
  for (let tag = 100; tag >= 1; tag--) acks.settled(messageOf(tag))
  acks.flush()
  expect([open.size, calls()]).toEqual([0, 1])
})
