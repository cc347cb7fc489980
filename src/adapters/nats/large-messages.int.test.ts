import { describe, expect, it } from 'vitest'
import { createNatsWorld, eventually, make, subscribe } from '../../../test/support/nats-world.ts'
import { systemClock } from '../../ports/clock.ts'
import { uniqueName } from '../../testing/conformance/harness.ts'
import { namesOf, streamsOf } from './broker/streams/names.ts'

const { service, outside, why, open, mortal } = await createNatsWorld()
/** The default of a server. */
const MAX_PAYLOAD = 1_048_576
const BY_KEY = { ordering: 'by-key' } as const
/** So much of the largest payload is left: enough for the headers of the message, and not for ours. */
const BRIM = 400

const attempts = (count: number) => Array.from({ length: count }, (_, index) => make.attempt(index + 1))

/** A message of another program, which leaves so many bytes of the largest payload for its headers. */
async function publish(channel: string, id: string, { key = 'a', left = MAX_PAYLOAD - 10 } = {}) {
  await outside.link.call(`${channel}.order.placed`, Buffer.from(`"${'x'.repeat(MAX_PAYLOAD - left)}"`), [
    ['ce-specversion', '1.0'],
    ['ce-id', id],
    ['ce-type', 'order.placed'],
    ['ce-source', '/shop'],
    ['ce-partitionkey', key],
    ['content-type', 'application/json'],
  ])
}

const waiting = (channel: string) => {
  const { streams, stateSubject } = namesOf(channel, 'bill')
  return outside.jetstream.countOf(streams.state, `${stateSubject}.waiting.>`)
}

describe.runIf(service !== undefined)(
  `Messages near the largest payload, in order by key, on NATS${why}`,
  () => {
    it('A2: an event that leaves no room for its attempts is retried, and its key waits for it', async () => {
      const channel = uniqueName('brim')
      const { subscription, deliveries, ids, statuses } = await subscribe(open(), channel, BY_KEY)
      await publish(channel, 'large', { left: BRIM })
      await publish(channel, 'behind')
      await eventually(() => ids()).toEqual(['large'])
      for (const runs of [1, 2]) {
        await subscription.begin(deliveries.at(-1)!, [])
        const notBefore = systemClock.now() + 100
        await subscription.settle(deliveries.at(-1)!, { outcome: 'retry', notBefore, ended: attempts(1) })
        await eventually(() => ids().length).toBe(runs + 1)
        expect(systemClock.now()).toBeGreaterThanOrEqual(notBefore)
        expect(deliveries.at(-1)).toMatchObject({ started: runs, ended: runs })
      }
      await subscription.settle(deliveries.at(-1)!, { outcome: 'done' })
      await eventually(() => ids()).toEqual(['large', 'large', 'large', 'behind'])
      expect(statuses).toEqual([])
      expect(await waiting(channel)).toBe(0)
      const { events } = streamsOf(channel)
      await eventually(async () => (await outside.jetstream.streamInfo(events))!.state.messages).toBe(1)
    })

    it('A2: an event that leaves little room is retried without its history', async () => {
      const channel = uniqueName('large')
      const { subscription, deliveries, ids } = await subscribe(open(), channel, BY_KEY)
      await publish(channel, 'large', { left: 3_000 })
      await eventually(() => ids()).toEqual(['large'])
      await subscription.begin(deliveries[0]!, [])
      await subscription.settle(deliveries[0]!, { outcome: 'retry', notBefore: 0, ended: attempts(20) })
      await eventually(() => ids()).toEqual(['large', 'large'])
      expect(deliveries[1]).toMatchObject({ started: 1, history: [] })
    })

    it('B9: after the death of the owner the next one delivers it with its attempts, and before the events behind it', async () => {
      const channel = uniqueName('heir')
      const { broker, die } = mortal()
      const first = await subscribe(broker, channel, BY_KEY)
      const next = await subscribe(open(), channel, BY_KEY)
      await publish(channel, 'large', { left: BRIM })
      await publish(channel, 'behind')
      await eventually(() => first.ids()).toEqual(['large'])
      await first.subscription.begin(first.deliveries[0]!, [])
      const notBefore = systemClock.now() + 100
      await first.subscription.settle(first.deliveries[0]!, {
        outcome: 'retry',
        notBefore,
        ended: attempts(1),
      })
      await die()
      await eventually(() => next.ids()).toEqual(['large'])
      expect(next.deliveries[0]!.started).toBeGreaterThanOrEqual(1)
      await next.subscription.settle(next.deliveries[0]!, { outcome: 'done' })
      await eventually(() => next.ids()).toEqual(['large', 'behind'])
      await next.subscription.settle(next.deliveries[1]!, { outcome: 'done' })
      expect(await waiting(channel)).toBe(0)
      const { events } = streamsOf(channel)
      await eventually(async () => (await outside.jetstream.streamInfo(events))!.state.messages).toBe(0)
    })

    it('B9: it waits behind a blocked key with others, and they come in their order when the key is unblocked', async () => {
      const channel = uniqueName('behind')
      const broker = open()
      const { subscription, deliveries, ids } = await subscribe(broker, channel, BY_KEY)
      const [dead] = make.events(1, { channel, key: 'a' })
      await broker.publish([dead!])
      await eventually(() => ids()).toEqual([dead!.id])
      const letter = make.letter({ event: dead!, channel })
      await subscription.settle(deliveries[0]!, { outcome: 'dead', letter, saved: true })
      const behind = ['before', 'large', 'after']
      for (const id of behind) await publish(channel, id, id === 'large' ? { left: BRIM } : {})
      await eventually(() => waiting(channel)).toBe(3)
      await broker.unblockKey(channel, dead!.id)
      for (const [index, id] of behind.entries()) {
        await eventually(() => ids().length).toBe(index + 2)
        expect(ids().at(-1)).toBe(id)
        await subscription.settle(deliveries.at(-1)!, { outcome: 'done' })
      }
      await eventually(() => broker.depth(channel, 'bill')).toBe(0)
    })
  },
)
