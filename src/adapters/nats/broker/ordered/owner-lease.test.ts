import { expect, it } from 'vitest'
import { FakeClock } from '../../../../testing/fake-clock.ts'
import { ERROR } from '../../connection/jetstream.ts'
import type { OutgoingMessage } from '../../connection/publisher.ts'
import { JetStreamError } from '../../errors.ts'
import type { SubscriptionContext } from '../consume/context.ts'
import { namesOf } from '../streams/names.ts'
import { OwnerLease } from './owner-lease.ts'

const LEASE_MS = 1_000

/** A lease that is owned, and a server whose answers the test can hold back. */
async function world() {
  const clock = new FakeClock()
  const record = { sequence: 0, data: Buffer.from('') }
  const server = { answer: Promise.resolve() }
  const context = {
    id: 'us',
    settings: { clock, leaseMs: LEASE_MS },
    names: namesOf('orders', 'bill'),
    streams: { name: () => 'LAZARET_STATE_ORDERS', restore: async () => true },
    jetstream: { message: async () => (record.sequence === 0 ? undefined : { ...record }) },
    publisher: {
      publish: async ([{ data, lastSequence }]: [OutgoingMessage]) => {
        if (lastSequence !== record.sequence) throw new JetStreamError('publish', ERROR.wrongLastSequence, '')
        record.sequence++
        record.data = Buffer.from(data)
        const { sequence } = record
        await server.answer
        return [sequence]
      },
    },
  } as unknown as SubscriptionContext
  const lease = new OwnerLease(context, { own: () => {}, renewedLate: () => {}, lose: () => {} })
  await lease.open()
  return { clock, record, server, lease }
}

it('B9: a lease that is closed while it is renewed is free at once', async () => {
  const { clock, record, server, lease } = await world()
  expect(record.data.toString()).toBe('us')
  const { promise, resolve } = Promise.withResolvers<void>()
  server.answer = promise
  await clock.advance(LEASE_MS / 2)
  const closing = lease.close()
  resolve()
  await closing
  expect(record.data.toString()).toBe('')
})

it('B9: an owner begins nothing in the last quarter of its lease: a late write would reach the next owner', async () => {
  const { clock, server, lease } = await world()
  server.answer = new Promise(() => {})
  await clock.advance(0.7 * LEASE_MS)
  expect(lease.isHeld).toBe(true)
  await clock.advance(0.1 * LEASE_MS)
  expect(lease.isHeld).toBe(false)
})
