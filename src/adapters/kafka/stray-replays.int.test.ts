import { describe, expect, it } from 'vitest'
import { kafkaWorld } from '../../../test/support/kafka-world.ts'
import { letterId } from '../../core/dead-letter/identity.ts'
import type { LazaretEvent } from '../../core/event/event.ts'
import { replayHeaders } from '../../core/event/replay-headers.ts'
import { eventOf } from '../../testing/conformance/broker/world.ts'
import { uniqueName } from '../../testing/conformance/harness.ts'
import { partitionOf } from './connection/murmur2.ts'

const { found, why, outside, timing, open, subscribe, settleNextAsDead } = await kafkaWorld()

const BY_KEY = { ordering: 'by-key' } as const
const PARTITIONS = 4

function replayed(event: LazaretEvent): LazaretEvent {
  const replay = { handler: 'bill', letterId: letterId(event.channel, 'bill', event), replayId: 'replay-1' }
  return { ...event, headers: replayHeaders(event, replay) }
}

/** Another program writes two events of a key, to a partition that is not the one of our publishers. */
async function writeElsewhere(channel: string, key: Buffer): Promise<void> {
  const partition = (partitionOf(key, PARTITIONS) + 1) % PARTITIONS
  const records = [1, 2].map(order => ({
    topic: channel,
    partition,
    key,
    value: Buffer.from(JSON.stringify({ order })),
    headers: [],
  }))
  await outside!.write(records)
}

describe.runIf(found)(`Kafka replays that come to another partition${why}`, () => {
  it.each([
    ['whose producer chooses partitions in another way', Buffer.from('a')],
    ['whose key is not a text', Buffer.from([0xff, 0xfe, 0, 1])],
  ])('B9: when the replay of an event is done %s, the next event of its key comes', async (_, key) => {
    const channel = uniqueName('elsewhere')
    const broker = open({ partitions: PARTITIONS, from: 'earliest' })
    const inbox = await subscribe(broker, channel, BY_KEY)
    await writeElsewhere(channel, key)
    await settleNextAsDead(inbox)
    const [dead] = inbox.all
    await inbox.assertEmpty('the key is not blocked')
    await broker.publish([replayed(eventOf(dead!))])
    await inbox.done(await inbox.next())
    const second = await inbox.next()
    expect(eventOf(second).payload).toEqual({ order: 2 })
    await inbox.done(second)
    await timing.eventually(async () => (await broker.depth(channel, 'bill')) === 0, 'nothing is left')
  })

  it('B9: with the order of partitions, the replay of an event without a key frees the partition of the event', async () => {
    const channel = uniqueName('keyless')
    const broker = open({ partitions: PARTITIONS, from: 'earliest', orderBy: 'partition' })
    const inbox = await subscribe(broker, channel, BY_KEY)
    for (const order of [1, 2])
      await outside!.write([
        {
          topic: channel,
          partition: 3,
          key: null,
          value: Buffer.from(JSON.stringify({ order })),
          headers: [],
        },
      ])
    await settleNextAsDead(inbox)
    const [dead] = inbox.all
    // Without a key a replay can come to any partition. It takes the place of the event in one of four.
    await broker.publish([replayed(eventOf(dead!))])
    await inbox.done(await inbox.next())
    expect(eventOf(await inbox.next()).payload).toEqual({ order: 2 })
  })
})
