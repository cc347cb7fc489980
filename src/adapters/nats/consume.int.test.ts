import { describe, expect, it } from 'vitest'
import { ChaosProxy } from '../../../test/chaos/proxy.ts'
import { createNatsWorld, eventually, make, subscribe } from '../../../test/support/nats-world.ts'
import type { LazaretEvent } from '../../core/event/event.ts'
import { type Clock, systemClock } from '../../ports/clock.ts'
import { uniqueName } from '../../testing/conformance/harness.ts'
import { namesOf, streamsOf } from './broker/streams/names.ts'

const { service, outside, why, open, mortal } = await createNatsWorld()
/** The default of a server. */
const MAX_PAYLOAD = 1_048_576

const attempts = (count: number) => Array.from({ length: count }, (_, index) => make.attempt(index + 1))

/** A message of another program, which leaves so many bytes of the largest payload. */
const publishLarge = (channel: string, left: number) =>
  outside.publishJson(`${channel}.large`, Buffer.from(`"${'x'.repeat(MAX_PAYLOAD - left)}"`))

describe.runIf(service !== undefined)(`Consuming from NATS${why}`, () => {
  it('E21: a consumer that an operator has limited gets its events', async () => {
    const channel = uniqueName('limited')
    const broker = open()
    await (await subscribe(broker, channel)).subscription.close()
    const { events } = streamsOf(channel)
    const { config } = (await outside.jetstream.consumerInfo(events, 'bill'))!
    await outside.request(`CONSUMER.DELETE.${events}.bill`)
    await outside.request(`CONSUMER.DURABLE.CREATE.${events}.bill`, {
      stream_name: events,
      config: { ...config, max_batch: 2, max_expires: 2_000_000_000 },
    })
    const { subscription, deliveries, ids } = await subscribe(broker, channel)
    const sent = make.events(5, { channel })
    await broker.publish(sent)
    for (let settled = 0; settled < 5; settled++) {
      await eventually(() => ids().length).toBeGreaterThan(settled)
      await subscription.settle(deliveries[settled]!, { outcome: 'done' })
    }
    expect(ids()).toEqual(sent.map(({ id }) => id))
  })

  it('P1: an event whose consumer crashed is delivered although the state stream was deleted', async () => {
    const channel = uniqueName('stateless')
    const next = await subscribe(open(), channel)
    next.subscription.pause()
    const { broker, die } = mortal()
    const first = await subscribe(broker, channel)
    const [event] = make.events(1, { channel })
    await open().publish([event!])
    await eventually(() => first.ids()).toEqual([event!.id])
    await die()
    await outside.request(`STREAM.DELETE.${streamsOf(channel).state}`)
    next.subscription.resume()
    await eventually(() => next.ids()).toEqual([event!.id])
  })

  it('E21: a server that answers nothing any more is left within a minute', async () => {
    const channel = uniqueName('half-open')
    const proxy = await ChaosProxy.to(service!.url)
    const broker = open({ url: proxy.through(service!.url) })
    const { ids } = await subscribe(broker, channel)
    proxy.halfOpen()
    const [event] = make.events(1, { channel })
    await open().publish([event!])
    await expect.poll(ids, { timeout: 60_000, interval: 100 }).toEqual([event!.id])
    await broker.close()
    await proxy.close()
  })

  it('B4: a lost connection does not make the server send more than fits', async () => {
    const channel = uniqueName('flap')
    const proxy = await ChaosProxy.to(service!.url)
    let connections = 0
    const broker = open({
      url: proxy.through(service!.url),
      ackWaitMs: 30_000,
      onConnection: ({ state }) => {
        if (state === 'up') connections++
      },
    })
    const { ids } = await subscribe(broker, channel)
    const { events } = streamsOf(channel)
    const waiting = async () =>
      ((await outside.request(`CONSUMER.INFO.${events}.bill`)) as { num_waiting: number }).num_waiting
    await eventually(waiting).toBe(1)
    proxy.cut()
    await eventually(() => connections).toBe(2)
    await eventually(waiting).toBeGreaterThan(0)
    await open().publish(make.events(40, { channel }))
    await eventually(() => ids().length).toBe(10)
    const { num_ack_pending } = (await outside.jetstream.consumerInfo(events, 'bill'))!
    expect(num_ack_pending).toBe(10)
    await broker.close()
    await proxy.close()
  })

  it.each(['none', 'by-key'] as const)(
    'P2: a message without an id has the same id when it waits for a retry and as a kept letter, with order %s',
    async ordering => {
      const channel = uniqueName('strangers')
      const { subscription, deliveries, ids } = await subscribe(open(), channel, { ordering })
      await outside.publishJson(`${channel}.x`, Buffer.from('{}'))
      const { events, letters } = streamsOf(channel)
      const { storedAt } = (await outside.jetstream.message(events, { seq: 1 }))!
      const id = `${events}/1@${storedAt}`
      for (const runs of [1, 2, 3]) {
        await eventually(() => ids().length).toBe(runs)
        await subscription.begin(deliveries.at(-1)!, [])
        if (runs < 3)
          await subscription.settle(deliveries.at(-1)!, {
            outcome: 'retry',
            notBefore: 0,
            ended: attempts(1),
          })
      }
      expect(ids()).toEqual([id, id, id])
      const letter = make.letter({ event: deliveries[2]!.content as LazaretEvent, channel })
      const { origin } = deliveries[2]!
      const settlement = { outcome: 'dead', letter: { ...letter, origin }, saved: false } as const
      await subscription.settle(deliveries[2]!, settlement)
      expect(await outside.letters(letters)).toMatchObject([{ event: { id } }])
    },
  )

  it('A2: an event that leaves no room for its attempts is retried', async () => {
    const channel = uniqueName('brim')
    const { subscription, deliveries } = await subscribe(open(), channel)
    await publishLarge(channel, 200)
    await eventually(() => deliveries.length).toBe(1)
    await subscription.begin(deliveries[0]!, [])
    await subscription.settle(deliveries[0]!, { outcome: 'retry', notBefore: 0, ended: attempts(1) })
    await eventually(() => deliveries.length).toBe(2)
    expect(deliveries[1]).toMatchObject({ started: 1, ended: 1 })
    await subscription.settle(deliveries[1]!, { outcome: 'done' })
  })

  it('A2: an event that leaves little room is retried without its history, and dies as a small letter', async () => {
    const channel = uniqueName('large')
    const { subscription, deliveries } = await subscribe(open(), channel)
    await publishLarge(channel, 3_000)
    await eventually(() => deliveries.length).toBe(1)
    await subscription.begin(deliveries[0]!, [])
    const ended = attempts(20)
    await subscription.settle(deliveries[0]!, { outcome: 'retry', notBefore: 0, ended })
    await eventually(() => deliveries.length).toBe(2)
    expect(deliveries[1]).toMatchObject({ started: 1, history: [] })
    const { content } = deliveries[1]!
    if ('raw' in content) throw new Error('the event cannot be decoded')
    const letter = make.letter({ event: content, channel })
    const cycle = { ...letter.cycle, attempts: ended }
    await subscription.settle(deliveries[1]!, { outcome: 'dead', letter: { ...letter, cycle }, saved: false })
    const [kept] = await outside.letters(streamsOf(channel).letters)
    expect(kept?.event.payload).toEqual(content.payload)
  })

  it('B8: a retry that comes too early by the clock of its next consumer is not taken for one that crashed', async () => {
    const channel = uniqueName('skew')
    const slow: Clock = { ...systemClock, now: () => systemClock.now() - 700 }
    const late = await subscribe(open({ clock: slow }), channel)
    late.subscription.pause()
    const first = open({ ackWaitMs: 30_000 })
    const { subscription, deliveries } = await subscribe(first, channel)
    await first.publish(make.events(1, { channel }))
    await eventually(() => deliveries.length).toBe(1)
    const notBefore = systemClock.now() + 2_000
    await subscription.settle(deliveries[0]!, { outcome: 'retry', notBefore, ended: [] })
    const names = namesOf(channel, 'bill')
    const given = async () => (await outside.jetstream.consumerInfo(names.streams.retries, 'bill'))!
    await eventually(async () => (await given()).delivered.consumer_seq).toBe(1)
    await first.close()
    late.subscription.resume()
    await eventually(() => late.deliveries.length).toBe(1)
    await late.subscription.begin(late.deliveries[0]!, [])
    expect(await outside.jetstream.countOf(names.streams.state, `${names.stateSubject}.note.>`)).toBe(0)
  })

  it('P2: a header whose name has a space in it keeps neither its message back nor those after it', async () => {
    const channel = uniqueName('spaced')
    const { ids, deliveries, subscription } = await subscribe(open(), channel)
    const headers = [
      ['x y', '1'],
      ['x-trace', 'kept'],
    ] as const
    await outside.link.call(`${channel}.raw`, Buffer.from('{}'), headers)
    await outside.link.call(`${channel}.raw`, Buffer.from('{}'))
    await eventually(() => ids().length).toBe(2)
    expect(deliveries[0]!.content).toMatchObject({ headers: { 'x-trace': 'kept' } })
    // A retry is the same message, published again.
    await subscription.settle(deliveries[0]!, { outcome: 'retry', notBefore: 0, ended: [] })
    await eventually(() => ids()[2]).toBe(ids()[0])
  })

  it.each(['none', 'by-key'] as const)(
    'F4: a message of another program that looks like a request to unblock a key is an event (%s)',
    async ordering => {
      const channel = uniqueName('request')
      const { ids, deliveries, subscription } = await subscribe(open(), channel, { ordering })
      const headers = [['lazaret-unblock', 'not JSON']] as const
      await outside.link.call(`${channel}.raw`, Buffer.from('{}'), headers)
      await eventually(() => ids()).toEqual([expect.stringContaining(`${streamsOf(channel).events}/1@`)])
      // A retry is the same message, published again.
      await subscription.settle(deliveries[0]!, { outcome: 'retry', notBefore: 0, ended: [] })
      await eventually(() => ids()).toEqual([ids()[0], ids()[0]])
    },
  )
})
