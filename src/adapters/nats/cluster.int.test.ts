import { describe, expect, it } from 'vitest'
import { createNatsWorld, eventually, make, subscribe } from '../../../test/support/nats-world.ts'
import { uniqueName } from '../../testing/conformance/harness.ts'
import { streamsOf } from './broker/streams/names.ts'

const { service, outside, why, open } = await createNatsWorld({ nodes: 3 })
/** The time to the next heartbeat is longer than the test, so that only the events themselves can show what has happened. */
const SLOW = { ackWaitMs: 600_000, leaseMs: 30_000 }
const BY_KEY = { ordering: 'by-key' } as const

/** The server that has a stream without replicas, and another one. */
async function nodesOf(stream: string) {
  const info = (await outside.request(`STREAM.INFO.${stream}`)) as { cluster: { leader: string } }
  const { nodes } = service!
  const owner = nodes[Number(info.cluster.leader.slice(1)) - 1]!
  return { owner, other: nodes.find(node => node !== owner)! }
}

describe.runIf(service !== undefined)(`NATS in a cluster without replicas${why}`, () => {
  it('B9: a blocked key stays blocked when the server of its stream counts from 1 again, and ours runs on', async () => {
    const channel = uniqueName('other')
    const { events: stream } = streamsOf(channel)
    const making = await subscribe(open(SLOW), channel, BY_KEY)
    await making.subscription.close()
    const { owner, other } = await nodesOf(stream)
    const broker = open({ ...SLOW, url: other.url })
    const { subscription, deliveries, ids } = await subscribe(broker, channel, BY_KEY)
    const events = make.events(5, { channel, key: 'a' })
    await broker.publish(events)
    for (const [index, event] of events.entries()) {
      await eventually(() => ids().length).toBe(index + 1)
      const isLast = index === events.length - 1
      const letter = make.letter({ event, channel })
      await subscription.settle(
        deliveries[index]!,
        isLast ? { outcome: 'dead', letter, saved: true } : { outcome: 'done' },
      )
    }
    await eventually(async () => (await outside.jetstream.streamInfo(stream))!.state.messages).toBe(0)
    await owner.kill()
    await owner.forgetMessages(stream)
    await owner.start()
    const [next] = make.events(1, { channel, key: 'a' })
    const [free, later] = make.events(2, { channel, key: 'b' })
    await broker.publish([next!, free!, later!])
    await eventually(() => ids().at(-1)).toBe(free!.id)
    await subscription.settle(deliveries.at(-1)!, { outcome: 'done' })
    await eventually(() => ids().at(-1)).toBe(later!.id)
    expect(ids()).not.toContain(next!.id)
    await broker.unblockKey(channel, events[4]!.id)
    await eventually(() => ids().at(-1)).toBe(next!.id)
  })
})
