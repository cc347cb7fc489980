import * as client from '@platformatic/kafka'
import { describe, expect, it } from 'vitest'
import { heapBytes } from '../../../test/support/heap.ts'
import { hasty, kafkaWorld } from '../../../test/support/kafka-world.ts'
import type { SubscriptionStatus } from '../../ports/broker.ts'
import { type Clock, systemClock } from '../../ports/clock.ts'
import { uniqueName } from '../../testing/conformance/harness.ts'
import { header, OWN } from './broker/wire/headers.ts'

const config = { 'log.retention.bytes': '1000000000' }
const { found, why, outside, timing, make, open, subscribe, settleNextAsDead } = await kafkaWorld({ config })

const TOPIC = 2
const HOUR_MS = 3_600_000
const SMALL_BUFFER = { bufferBytes: 1_048_576 }
const LARGE = { text: 'x'.repeat(100_000) }
const BY_KEY = { ordering: 'by-key' } as const

/** Long waits do not end while a test runs. */
const patient: Clock = {
  ...systemClock,
  schedule: (ms, work) => (ms >= 10_000 ? () => {} : systemClock.schedule(ms, work)),
}

/** The client, whose first question for the offsets of a held topic fails. */
function failingOnce() {
  const { api } = client.listOffsetsV7
  let hasFailed = false
  const failing = {
    async: async (...args: Parameters<typeof api.async>) => {
      const isHeld = args[3].some(({ name }) => name.endsWith('.held'))
      if (!isHeld || hasFailed) return api.async(...args)
      hasFailed = true
      throw new Error('the leader has moved')
    },
  }
  return { ...client, listOffsetsV7: { api: failing } }
}

describe.runIf(found)(`Kafka keeps and goes on${why}`, () => {
  it('B20: large retries that wait for an hour leave room for other events', async () => {
    const channel = uniqueName('room')
    const broker = open({ ...SMALL_BUFFER, retryStepsMs: [HOUR_MS] })
    const inbox = await subscribe(broker, channel)
    for (let count = 0; count < 15; count++) {
      await broker.publish([make.event({ channel, payload: LARGE })])
      const delivery = await inbox.next()
      await inbox.begin(delivery)
      await inbox.retry(delivery, timing.now() + 2 * HOUR_MS)
    }
    const event = make.event({ channel })
    await broker.publish([event])
    await inbox.doneNext(event, 'nothing is read while retries wait')
  })

  it('B20: the attempts of retries that wait for an hour take no memory beside their records', async () => {
    const channel = uniqueName('attempts')
    const broker = open({ retryStepsMs: [HOUR_MS], bufferBytes: 209_715_200 })
    const inbox = await subscribe(broker, channel)
    const stack = 'x'.repeat(7_000)
    const ended = Array.from({ length: 20 }, (_, index) => ({ ...make.attempt(index + 1), stack }))
    const log = { topic: channel, partition: 0, started: 20, ended: 20, history: ended }
    const retry = (offset: number, notBefore: number) => ({
      topic: `${channel}.bill.retry.1h`,
      key: null,
      value: Buffer.from('{}'),
      headers: [header(OWN.log, JSON.stringify({ ...log, offset, notBefore, waitMs: 2 * HOUR_MS }))],
    })
    const before = heapBytes()
    for (let offset = 0; offset < 100; offset++)
      await outside!.write([retry(offset, timing.now() + 2 * HOUR_MS)])
    // The last one is due. When it is delivered, the others were read.
    await outside!.write([retry(100, 1)])
    await inbox.next()
    expect(heapBytes() - before).toBeLessThan(5_000_000)
  })

  it('B9: large events behind a dead one leave room for other keys', async () => {
    const channel = uniqueName('blocked')
    const broker = open({ ...SMALL_BUFFER, clock: patient })
    const inbox = await subscribe(broker, channel, BY_KEY)
    await broker.publish([make.event({ channel, key: 'a' })])
    await settleNextAsDead(inbox)
    const other = make.event({ channel, key: 'b' })
    for (let count = 0; count < 15; count++)
      await broker.publish([make.event({ channel, key: 'a', payload: LARGE })])
    await broker.publish([other])
    await inbox.doneNext(other, 'the other key waits for the dead event')
  })

  it('B9: events behind a dead one are soon in the held topic, which no retention shortens', async () => {
    const channel = uniqueName('behind')
    const broker = open({ clock: hasty })
    const inbox = await subscribe(broker, channel, BY_KEY)
    const events = make.events(4, { channel, key: 'a' })
    await broker.publish(events)
    await settleNextAsDead(inbox)
    await timing.eventually(async () => {
      const held = await outside!.records(`${channel}.bill.held`)
      return events.every(({ id }) =>
        held.some(({ headers }) => headers.some(([, value]) => value?.toString().includes(id))),
      )
    }, 'the events behind are in the held topic')
    await timing.eventually(async () => (await broker.depth(channel, 'bill')) === 3, 'each is counted once')
    await broker.unblockKey(channel, events[0]!.id, 'bill')
    for (const event of events.slice(1)) await inbox.doneNext(event)
    await timing.eventually(async () => (await broker.depth(channel, 'bill')) === 0, 'all are done')
  })

  it('B9: a partition is opened although the first read of its held topic fails', async () => {
    const channel = uniqueName('opening')
    const broker = open({ client: failingOnce() })
    const inbox = await subscribe(broker, channel, BY_KEY)
    const event = make.event({ channel, key: 'a' })
    await broker.publish([event])
    await inbox.doneNext(event, 'the partition is never read')
  })

  it('B9: a partition that the channel got later is reported until its events have a place to wait', async () => {
    const channel = uniqueName('grown')
    const broker = open()
    const statuses: SubscriptionStatus[] = []
    const options = { channel, handler: 'bill', prefetch: 10, ...BY_KEY }
    await broker.subscribe(
      options,
      () => {},
      status => statuses.push(status),
    )
    await outside!.addPartitions(channel, 3)
    await timing.eventually(() => statuses.length > 0, 'the stall is reported')
    expect(statuses[0]).toMatchObject({ state: 'stalled', place: 'deliveries' })
    expect(String((statuses[0] as { error: Error }).error)).toContain(
      `--topic ${channel}.bill.held --partitions 3`,
    )
  })

  it('B20: the size limit of the cluster removes neither retries nor letters', async () => {
    const channel = uniqueName('limits')
    await subscribe(open(), channel)
    for (const topic of [`${channel}.bill.dlq`, `${channel}.bill.retry.5s`]) {
      const [found] = await outside!.admin.describeConfigs({
        resources: [{ resourceType: TOPIC, resourceName: topic, configurationKeys: ['retention.bytes'] }],
      })
      expect([topic, found!.configs[0]!.value]).toEqual([topic, '-1'])
    }
  })
})
