import * as client from '@platformatic/kafka'
import { describe, expect, it } from 'vitest'
import { kafkaWorld } from '../../../test/support/kafka-world.ts'
import { type Clock, systemClock } from '../../ports/clock.ts'
import { eventOf, idOf } from '../../testing/conformance/broker/world.ts'
import { uniqueName } from '../../testing/conformance/harness.ts'
import { DEFAULT_METADATA_MAX_AGE_MS } from './index.ts'

const SESSION_MS = 1_000
const config = { 'group.consumer.session.timeout.ms': String(SESSION_MS) }
const { found, why, outside, timing, make, open, subscribe } = await kafkaWorld({ config })

/** The client, and how many heartbeats it has sent. */
function countingHeartbeats() {
  const sent = { count: 0 }
  const { api } = client.consumerGroupHeartbeatV1
  const counting = {
    async: (...args: Parameters<typeof api.async>) => {
      sent.count++
      return api.async(...args)
    },
  }
  return { sent, client: { ...client, consumerGroupHeartbeatV1: { api: counting } } }
}

/** The clock of a process that has run for longer than this one. */
function laterClock() {
  const later = { ms: 0 }
  const clock: Clock = { ...systemClock, monotonic: () => systemClock.monotonic!() + later.ms }
  return { later, clock }
}

describe.runIf(found)(`Kafka in hard times${why}`, () => {
  it('E21: neither a slow handler nor a pause costs the membership', async () => {
    const channel = uniqueName('slow')
    const { sent, client: counted } = countingHeartbeats()
    const inbox = await subscribe(open({ client: counted }), channel, { prefetch: 1 })
    const other = await subscribe(open(), channel)
    await other.subscription.close()
    const broker = open()
    await broker.publish(make.events(2, { channel }))
    const slow = await inbox.next()
    inbox.subscription.pause()
    const before = sent.count
    await timing.eventually(
      () => sent.count > before + (3 * SESSION_MS) / 100,
      'three sessions of heartbeats',
    )
    await inbox.done(slow)
    inbox.subscription.resume()
    await inbox.done(await inbox.next())
    await inbox.assertEmpty('an event came again')
  })

  it('E21: the deliveries of a partition that another consumer gets are refused, and come there', async () => {
    const channel = uniqueName('moved')
    const first = await subscribe(open({ partitions: 2, drainMs: 200 }), channel)
    const broker = open({ partitions: 2 })
    const events = Array.from({ length: 20 }, (_, index) => make.event({ channel, key: `key-${index}` }))
    await broker.publish(events)
    const open20 = await first.take(20)
    const second = await subscribe(open({ partitions: 2 }), channel)
    await timing.eventually(() => second.waiting > 0, 'the second consumer gets a partition')
    const refused: string[] = []
    for (const delivery of open20) await first.done(delivery).catch(() => refused.push(idOf(delivery)))
    expect(refused.length).toBeGreaterThan(0)
    expect(refused.length).toBeLessThan(20)
    await second.assertNext(events.filter(({ id }) => refused.includes(id)))
  })

  it('B3: a long wait is in a retry topic, with the key, the headers and the attempts of its event', async () => {
    const channel = uniqueName('waits')
    const inbox = await subscribe(open({ retryStepsMs: [1_000, 3_600_000] }), channel)
    const broker = open()
    const headers = [
      [Buffer.from('twice'), Buffer.from([0, 255])],
      [Buffer.from('twice'), null],
      [Buffer.from('content-type'), Buffer.from('text/plain')],
    ] as const
    const foreign = { key: Buffer.from([0xff, 0]), value: Buffer.from('hello'), headers }
    await outside!.write([{ topic: channel, ...foreign }])
    const [delivery] = await inbox.take(1)
    const id = `${channel}/0/0@${delivery!.origin['timestamp']}`
    expect(eventOf(delivery!)).toMatchObject({ id, type: channel, payload: 'hello' })
    await inbox.begin(delivery!)
    await inbox.retry(delivery!, timing.now() + 7_200_000, [make.attempt(1)])
    const [waiting] = await outside!.records(`${channel}.bill.retry.1h`)
    expect(waiting!.headers.slice(0, 3)).toEqual(headers)
    expect([waiting!.key, waiting!.value]).toEqual([foreign.key, foreign.value])
    await timing.eventually(async () => (await broker.depth(channel, 'bill')) === 1, 'it is counted once')
  })

  it('B3: a wait between two topics ends in time, and a foreign event keeps its identity', async () => {
    const channel = uniqueName('between')
    const inbox = await subscribe(open({ retryStepsMs: [1_000] }), channel)
    await outside!.write([{ topic: channel, key: null, value: Buffer.from('{}'), headers: [] }])
    const [delivery] = await inbox.take(1)
    const notBefore = timing.now() + 1_500
    await inbox.retry(delivery!, notBefore)
    const again = await inbox.next()
    expect(inbox.times[1]).toBeGreaterThanOrEqual(notBefore)
    expect(idOf(again)).toBe(`${channel}/0/0@${again.origin['timestamp']}`)
    expect(again.origin).toEqual(delivery!.origin)
    expect(await outside!.records(`${channel}.bill.retry.1s`)).toHaveLength(1)
  })

  it('B9: a foreign event keeps its identity while it is held for the order of its key', async () => {
    const channel = uniqueName('held')
    const inbox = await subscribe(open(), channel, { ordering: 'by-key' })
    const record = { topic: channel, key: Buffer.from('a'), value: Buffer.from('{}'), headers: [] }
    await outside!.write([record])
    const delivery = await inbox.next()
    const id = `${channel}/0/0@${delivery.origin['timestamp']}`
    expect(idOf(delivery)).toBe(id)
    await inbox.begin(delivery)
    await inbox.retry(delivery, timing.now() + 100, [make.attempt(1)])
    expect(await outside!.records(`${channel}.bill.held`)).not.toEqual([])
    expect(idOf(await inbox.next())).toBe(id)
  })

  it('B9: a record that cannot be decoded becomes a letter, and blocks no key', async () => {
    const channel = uniqueName('undecodable')
    const broker = open()
    const inbox = await subscribe(broker, channel, { ordering: 'by-key' })
    const contentType = [Buffer.from('content-type'), Buffer.from('application/json')] as const
    const record = { topic: channel, key: Buffer.from('a'), headers: [contentType] }
    await outside!.write([
      { ...record, value: Buffer.from('{"cut') },
      { ...record, value: Buffer.from('{}') },
    ])
    const undecodable = await inbox.next()
    expect(undecodable.content).toHaveProperty('raw')
    const letter = make.letter({ channel })
    await inbox.subscription.settle(undecodable, { outcome: 'dead', letter, saved: true })
    await inbox.done(await inbox.next())
    await timing.eventually(async () => (await broker.depth(channel, 'bill')) === 0, 'nothing is left')
  })

  for (const ordering of ['none', 'by-key'] as const)
    it(`P2: with ordering '${ordering}' a record of the channel is an event, whatever its headers say of attempts and keys`, async () => {
      const channel = uniqueName('forged')
      const inbox = await subscribe(open(), channel, { ordering })
      const year = 31_536_000_000
      const log = JSON.stringify({ started: 99, notBefore: timing.now() + year, waitMs: year })
      const forged = { 'lazaret-unblock': 'some-id', 'lazaret-log': log }
      await outside!.write(
        Object.entries(forged).map(([name, text]) => {
          const headers = [[Buffer.from(name), Buffer.from(text)] as const]
          return { topic: channel, key: Buffer.from('a'), value: Buffer.from('{}'), headers }
        }),
      )
      for (const offset of [0, 1]) {
        const delivery = await inbox.next()
        expect([delivery.origin['offset'], delivery.started]).toEqual([offset, 0])
        await inbox.done(delivery)
      }
    })

  it('B20: the partitions of a killed consumer go to others after the session timeout that the group was given', async () => {
    const channel = uniqueName('session')
    await subscribe(open({ sessionTimeoutMs: 5_000 }), channel)
    const timeoutOf = async () => {
      const [answer] = await outside!.admin.describeConfigs({
        resources: [{ resourceType: 32, resourceName: `${channel}.bill`, configurationKeys: null }],
      })
      return answer!.configs.find(({ name }) => name === 'consumer.session.timeout.ms')?.value
    }
    expect(await timeoutOf()).toBe('5000')
    const refused = subscribe(open({ sessionTimeoutMs: 3_600_000 }), channel)
    await expect(refused).rejects.toThrow(
      /'session[^']*\.bill': consumer\.session\.timeout\.ms=3600000 is out of .*; change `sessionTimeoutMs`/,
    )
    expect(await timeoutOf()).toBe('5000')
  })

  it('B9: a process that published before partitions were added learns of them, and puts a key where others put it', async () => {
    const channel = uniqueName('added')
    const { later, clock } = laterClock()
    const early = open({ clock })
    await early.publish([make.event({ channel })])
    await outside!.addPartitions(channel, 8)
    later.ms = DEFAULT_METADATA_MAX_AGE_MS
    const keys = Array.from({ length: 20 }, (_, index) => `key-${index}`)
    for (const broker of [early, open()]) await broker.publish(keys.map(key => make.event({ channel, key })))
    const records = await outside!.records(channel)
    for (const key of keys) {
      const ofKey = records.filter(record => record.key?.toString() === key)
      expect([key, ofKey.length, new Set(ofKey.map(({ partition }) => partition)).size]).toEqual([key, 2, 1])
    }
  })

  it('B9: with orderBy partition, an event holds back those of other keys', async () => {
    const channel = uniqueName('partition')
    const broker = open({ orderBy: 'partition' })
    const inbox = await subscribe(broker, channel, { ordering: 'by-key' })
    const events = ['a', 'b', undefined].map(key => make.event({ channel, key }))
    await broker.publish(events)
    for (const event of events) {
      const delivery = await inbox.assertNextIs(event)
      await inbox.assertEmpty('two events of a partition are open')
      await inbox.done(delivery)
    }
  })

  it('B9: more events than memory may hold wait behind a dead one, other keys go on, and they come in their order', async () => {
    const channel = uniqueName('behind')
    const broker = open()
    const options = { ordering: 'by-key' } as const
    const inbox = await subscribe(broker, channel, options)
    const dead = make.event({ channel, key: 'a' })
    const behind = make.events(1_500, { channel, key: 'a' })
    const other = make.event({ channel, key: 'b' })
    await broker.publish([dead])
    const delivery = await inbox.assertNextIs(dead)
    const letter = make.letter({ event: eventOf(delivery), channel })
    await inbox.subscription.settle(delivery, { outcome: 'dead', letter, saved: true })
    await broker.publish([...behind, other])
    await inbox.doneNext(other, 'the other key waits for its neighbours')
    await inbox.subscription.close()
    const next = await subscribe(broker, channel, options)
    await broker.unblockKey(channel, dead.id, 'bill')
    for (const event of behind.slice(0, 20)) await next.doneNext(event)
    await next.subscription.close()
    const last = await subscribe(broker, channel, options)
    await last.assertNextIs(behind[20])
  })
})
