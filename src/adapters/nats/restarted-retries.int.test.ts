import { describe, expect, it } from 'vitest'
import { createNatsWorld, eventually, make, subscribe } from '../../../test/support/nats-world.ts'
import type { LazaretEvent } from '../../core/event/event.ts'
import { replayHeaders } from '../../core/event/replay-headers.ts'
import { uniqueName } from '../../testing/conformance/harness.ts'
import { namesOf, streamsOf } from './broker/streams/names.ts'
import { encodeEvent } from './broker/wire/event-codec.ts'

const { service, outside, why, open, mortal } = await createNatsWorld()
const PUBLISHERS = ['the broker', 'a process that looks at no consumer'] as const
type Publisher = (typeof PUBLISHERS)[number]

/** Events that go to the retry stream of the channel. */
const replays = (channel: string, count: number) =>
  make
    .events(count, { channel })
    .map(event => ({ ...event, headers: replayHeaders(event, { handler: 'bill' }) }))

/** Nobody handles. The server stops, so that it writes what it knows of its consumers, and loses something. */
async function lose(loss: () => Promise<void>): Promise<void> {
  await service!.nodes[0]!.stop()
  await loss()
  await service!.nodes[0]!.start()
}

/**
 * The handler gets this many retries, settles those with these numbers, and dies when the state stream has recorded how far the
 * retry stream had counted.
 */
async function handleBefore(channel: string, count: number, settled: readonly number[]): Promise<void> {
  const { streams, stateSubject, consumer } = namesOf(channel, 'bill')
  const { broker, die } = mortal()
  const { subscription, deliveries } = await subscribe(broker, channel)
  await eventually(() => deliveries.length).toBe(count)
  for (const number of settled) await subscription.settle(deliveries[number - 1]!, { outcome: 'done' })
  const unsettled = async () =>
    (await outside.jetstream.consumerInfo(streams.retries, consumer))?.num_ack_pending
  await eventually(unsettled).toBe(count - settled.length)
  await eventually(async () => {
    const found = await outside.jetstream.message(streams.state, { last_by_subj: `${stateSubject}.retries` })
    return Buffer.from(found?.data ?? []).toString('utf8')
  }).toContain(`"lastSequence":${count}`)
  await die()
  void broker.close()
}

/** The broker looks before it publishes, and needs no record. */
async function publish(
  publisher: Publisher,
  channel: string,
  events: readonly LazaretEvent[],
): Promise<void> {
  const { streams, stateSubject, retrySubject } = namesOf(channel, 'bill')
  if (publisher === 'the broker') {
    await outside.request(`STREAM.PURGE.${streams.state}`, { filter: `${stateSubject}.retries` })
    await open().publish(events)
    return
  }
  for (const event of events) {
    const { data, headers } = encodeEvent(event)
    await outside.link.call(retrySubject, data, headers)
  }
}

/** The handler comes back and settles what it gets. Resolves with the ids, when there are so many. */
async function handleAfter(channel: string, count: number): Promise<readonly string[]> {
  const { subscription, deliveries, ids } = await subscribe(open(), channel)
  let settled = 0
  await eventually(async () => {
    for (; settled < deliveries.length; settled++)
      await subscription.settle(deliveries[settled]!, { outcome: 'done' })
    return settled
  }).toBe(count)
  return ids()
}

const idsOf = (events: readonly LazaretEvent[]) => events.map(({ id }) => id)

describe.runIf(service !== undefined)(`NATS after a server has lost retries${why}`, () => {
  it.each(
    PUBLISHERS.flatMap(publisher => [
      { publisher, settled: [1, 2, 3, 4, 5] },
      { publisher, settled: [2, 4, 5] },
      { publisher, settled: [] },
    ]),
  )(
    'P1: retries that $publisher adds to a stream that counts from 1 again reach their handler once, whose consumer remembers that $settled are settled',
    async ({ publisher, settled }) => {
      const channel = uniqueName('retries')
      await (await subscribe(open(), channel)).subscription.close()
      await open().publish(replays(channel, 5))
      await handleBefore(channel, 5, settled)
      const { retries } = streamsOf(channel)
      await lose(() => service!.nodes[0]!.forgetMessages(retries))
      const events = replays(channel, 8)
      await publish(publisher, channel, events)
      expect(await handleAfter(channel, 8)).toEqual(idsOf(events))
    },
  )

  it.each(PUBLISHERS)(
    'P1: retries that %s adds to a stream that has lost its end reach their handler once, also the one that it still has',
    async publisher => {
      const channel = uniqueName('end')
      const { retries } = streamsOf(channel)
      await (await subscribe(open(), channel)).subscription.close()
      const [kept] = replays(channel, 1)
      await open().publish([kept!])
      let putBack = async () => {}
      await lose(async () => {
        putBack = await service!.nodes[0]!.copyMessages(retries)
      })
      await open().publish(replays(channel, 4))
      await handleBefore(channel, 5, [2, 3, 4, 5])
      await lose(putBack)
      const events = replays(channel, 8)
      await publish(publisher, channel, events)
      expect((await handleAfter(channel, 9)).toSorted()).toEqual(idsOf([kept!, ...events]).toSorted())
    },
  )

  it('P1: retries that the broker adds when a server has lost the files of the stream reach their handler once', async () => {
    const channel = uniqueName('files')
    const { retries } = streamsOf(channel)
    await (await subscribe(open(), channel)).subscription.close()
    await open().publish(replays(channel, 5))
    await handleBefore(channel, 5, [1, 2, 3, 4, 5])
    await lose(() => service!.nodes[0]!.forgetStream(retries))
    const events = replays(channel, 8)
    await publish('the broker', channel, events)
    expect(await handleAfter(channel, 8)).toEqual(idsOf(events))
  })
})
