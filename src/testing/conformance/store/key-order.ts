import assert from 'node:assert/strict'
import type { Delivery } from '../../../ports/broker.ts'
import { inStoreWorld, type StoreConformance } from './suite.ts'

/** Letters and keys of a store that is a broker too and keeps the order of keys. Other stores have nothing to test here. */
export function keyOrderTests(suite: StoreConformance): void {
  const it = inStoreWorld(suite)

  for (const how of ['delete', 'deleteMany'] as const)
    it(`B9: ${how} of the letter of a dead-lettered event lets the later events of its key go on`, async world => {
      const { broker, deadLetters } = world.store
      if (!broker?.capabilities.keyOrder) return
      const { channel, timing, make } = world
      const events = Array.from({ length: 2 }, () => make.event({ channel, key: 'a' }))
      const delivered: Delivery[] = []
      const options = { channel, handler: 'bill', prefetch: 10, ordering: 'by-key' } as const
      const subscription = await broker.subscribe(options, delivery => void delivered.push(delivery))
      await broker.publish(events)
      await timing.eventually(() => delivered.length === 1, 'the first delivery')
      const letter = make.letter({ event: events[0]!, channel, handler: 'bill' })
      await deadLetters.send(letter)
      await subscription.settle(delivered[0]!, { outcome: 'dead', letter, saved: true })
      await timing.quiet()
      assert.equal(delivered.length, 1, 'the dead-lettered event blocks its key')
      const { id, state, cycle } = letter
      const seen = { id, state, lastFailedAt: cycle.lastFailedAt }
      if (how === 'delete') assert.equal(await deadLetters.delete(id, seen), true)
      else assert.deepEqual(await deadLetters.deleteMany([seen]), [id])
      await timing.eventually(() => delivered.length === 2, 'the second delivery')
      await subscription.settle(delivered[1]!, { outcome: 'done' })
      await subscription.close()
    })
}
