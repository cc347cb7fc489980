import { describe, expect, it } from 'vitest'
import { createNatsWorld, eventually, make, subscribe } from '../../../test/support/nats-world.ts'
import { replayHeaders } from '../../core/event/replay-headers.ts'
import { uniqueName } from '../../testing/conformance/harness.ts'
import { streamsOf } from './broker/streams/names.ts'

const { service, outside, why, open } = await createNatsWorld()

/** Events that go to the retry stream of the channel. */
const replays = (channel: string, count: number) =>
  make
    .events(count, { channel })
    .map(event => ({ ...event, headers: replayHeaders(event, { handler: 'bill' }) }))

/** A handler settles 5 replays and is gone. */
async function settleFive(channel: string): Promise<void> {
  const broker = open()
  const { subscription, deliveries } = await subscribe(broker, channel)
  await broker.publish(replays(channel, 5))
  await eventually(() => deliveries.length).toBe(5)
  for (const delivery of deliveries) await subscription.settle(delivery, { outcome: 'done' })
  await eventually(() => broker.depth(channel, 'bill')).toBe(0)
  await broker.close()
}

async function forget(stream: string): Promise<void> {
  await service!.nodes[0]!.kill()
  await service!.nodes[0]!.forgetMessages(stream)
  await service!.nodes[0]!.start()
}

describe.runIf(service !== undefined)(`NATS after a retry stream has begun again${why}`, () => {
  it.each([
    ['deleted', 3],
    ['deleted', 8],
    ['counted from 1 again', 3],
    ['counted from 1 again', 8],
  ])(
    'P1: a retry stream that was %s and filled with %i messages while its handler was down keeps none of them',
    async (what, count) => {
      const channel = uniqueName('retries')
      const { retries } = streamsOf(channel)
      await settleFive(channel)
      if (what === 'deleted') await outside.request(`STREAM.DELETE.${retries}`)
      else await forget(retries)
      const events = replays(channel, count)
      await open().publish(events)
      const { ids } = await subscribe(open(), channel)
      await eventually(() => ids().length).toBe(count)
      expect(new Set(ids())).toEqual(new Set(events.map(({ id }) => id)))
    },
  )
})
