import { describe, expect, it } from 'vitest'
import type { Delivery, Undecodable } from '../../ports/broker.ts'
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
