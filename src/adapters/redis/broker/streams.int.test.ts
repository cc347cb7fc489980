import { randomBytes } from 'node:crypto'
import { createClient } from 'redis'
import { describe, expect, it } from 'vitest'
import { redisStreamsWorld } from '../../../../test/support/redis-streams-world.ts'
import { replayHeaders } from '../../../core/event/replay-headers.ts'
import { BrokerFullError } from '../../../ports/broker.ts'
import { counts, idOf, idsOf } from '../../../testing/conformance/broker/world.ts'
import { uniqueName } from '../../../testing/conformance/harness.ts'
import { redisDeadLetters } from '../store.ts'
import { redisStreams } from './streams.ts'

const { isOurs, why, node, url, timing, make, open, subscribe } = await redisStreamsWorld()

const streamOf = (channel: string) => `{lazaret:${channel}}:events`
const lengthOf = async (channel: string) => Number(await node.command('XLEN', streamOf(channel)))

describe.runIf(isOurs)(`Redis Streams${why}`, () => {
  it('S1: the first handler of a channel gets what was published before it, the others what comes after them', async () => {
    const channel = uniqueName('early')
    const broker = open()
    const [before, after] = make.events(2, { channel })
    await broker.publish([before!])
    const first = await subscribe(broker, channel, { handler: 'bill' })
    const second = await subscribe(broker, channel, { handler: 'ship' })
    await broker.publish([after!])
    expect(idsOf(await first.take(2))).toEqual([before!.id, after!.id])
    expect(idOf(await second.next())).toBe(after!.id)
    await second.assertEmpty('it got what was before it')
  })

  it('E17: a replay goes to the handler that failed, and to no other', async () => {
    const channel = uniqueName('replayed')
    const broker = open()
    const bill = await subscribe(broker, channel, { handler: 'bill' })
    const ship = await subscribe(broker, channel, { handler: 'ship' })
    const event = make.event({ channel })
    await broker.publish([{ ...event, headers: replayHeaders(event, { handler: 'ship' }) }])
    await ship.next()
    await bill.assertEmpty('it got a replay for another')
  })

  it('K9: what every handler has finished with is removed from the stream, and nothing before', async () => {
    const channel = uniqueName('trimmed')
    const broker = open({ leaseMs: 300 })
    const bill = await subscribe(broker, channel, { handler: 'bill', prefetch: 1_000 })
    await (await subscribe(broker, channel, { handler: 'ship' })).subscription.close()
    await broker.publish(make.events(1_000, { channel }))
    await bill.done(...(await bill.take(1_000)))
    await timing.eventually(async () => (await broker.depth(channel, 'bill')) === 0, 'one has finished')
    await timing.pass(300)
    expect(await lengthOf(channel)).toBe(1_000)
    expect(await broker.depth(channel, 'ship')).toBe(1_000)
    const ship = await subscribe(broker, channel, { handler: 'ship', prefetch: 1_000 })
    const [held, ...others] = await ship.take(1_000)
    await ship.done(...others)
    await timing.pass(300)
    expect(await lengthOf(channel)).toBe(1_000)
    await ship.done(held!)
    await timing.eventually(async () => (await lengthOf(channel)) <= 100, 'the stream is short')
  })

  it('K9: nothing before, also where the ids are of nanoseconds', async () => {
    const channel = uniqueName('exact')
    const broker = open({ maxLength: 10 })
    const bill = await subscribe(broker, channel, { handler: 'bill' })
    const ship = await subscribe(broker, channel, { handler: 'ship', prefetch: 5 })
    const [early, late] = [make.events(10, { channel }), make.events(2, { channel })]
    for (const [n, event] of early.entries()) {
      const id = `${1_763_226_000_123_456_512n + BigInt(n)}-0`
      await node.command('XADD', streamOf(channel), id, 'event', JSON.stringify(event))
    }
    await bill.done(...(await bill.take(10)))
    const first = await ship.take(5)
    ship.subscription.pause()
    await ship.done(...first)
    const depths = () => Promise.all(['bill', 'ship'].map(handler => broker.depth(channel, handler)))
    await timing.eventually(async () => String(await depths()) === '0,5', 'the first ones are done')
    await broker.publish(late)
    ship.subscription.resume()
    const rest = idsOf(await ship.take(5))
    expect(rest).toEqual(early.slice(5).map(({ id }) => id))
  })

  it('P1: a channel that may hold so many refuses more, until handlers have finished with some', async () => {
    const channel = uniqueName('bounded')
    const broker = open({ maxLength: 10 })
    const inbox = await subscribe(broker, channel)
    await broker.publish(make.events(8, { channel }))
    await expect(broker.publish(make.events(3, { channel }))).rejects.toThrow(BrokerFullError)
    await inbox.done(...(await inbox.take(10)))
    await timing.eventually(async () => (await broker.depth(channel, 'bill')) === 0, 'all are done')
    await broker.publish(make.events(10, { channel }))
  })

  it('P2: what others add is an event of its fields, the same one each time it comes', async () => {
    const channel = uniqueName('foreign')
    const broker = open()
    const inbox = await subscribe(broker, channel)
    const fields = { type: 'order.placed', order: '17', note: 'žluť' }
    const id = String(await node.command('XADD', streamOf(channel), '*', ...Object.entries(fields).flat()))
    const delivery = await inbox.next()
    const event = { id: `redis-${channel}-${id}`, type: 'order.placed', channel, payload: fields }
    expect(delivery.content).toMatchObject({ ...event, occurredAt: Number(id.split('-')[0]) })
    await inbox.subscription.settle(delivery, { outcome: 'retry', notBefore: 0, ended: [make.attempt(1)] })
    const again = await inbox.next()
    expect([again.content, again.origin]).toEqual([delivery.content, delivery.origin])
  })

  it('P2: bytes that are not text are kept byte by byte, and an entry of thousands of fields is kept whole', async () => {
    const channel = uniqueName('strange')
    const broker = open()
    const inbox = await subscribe(broker, channel)
    const raw = Buffer.from([0x7b, 0xff, 0x00, 0xfe])
    const client = createClient({ url })
    await client.connect()
    await client.xAdd(streamOf(channel), '*', { event: raw })
    await client.sendCommand([
      'XADD',
      streamOf(channel),
      '*',
      ...Array.from({ length: 10_000 }, (_, n) => `${n}`),
    ])
    client.destroy()
    for (let time = 0; time < 3; time++) {
      const [bytes, many] = await inbox.take(2)
      expect(bytes!.content).toEqual({ raw: new Uint8Array(raw), problem: 'it is not valid UTF-8' })
      expect(Object.keys((many!.content as { payload: object }).payload)).toHaveLength(5_000)
      for (const each of [bytes!, many!])
        await inbox.subscription.settle(each, { outcome: 'release', notBefore: 0 })
    }
  })

  it.each([2, 3] as const)(
    'P2: a large entry that is not text is kept byte by byte, with RESP%i',
    async RESP => {
      const channel = uniqueName('large')
      const client = createClient({ url, RESP })
      client.on('error', () => {})
      await client.connect()
      const broker = open({ url: undefined, client })
      const inbox = await subscribe(broker, channel)
      const raw = randomBytes(300_001)
      await client.xAdd(streamOf(channel), '*', { event: raw })
      for (let time = 0; time < 2; time++) {
        const delivery = await inbox.next()
        const { raw: received } = delivery.content as { raw: Uint8Array }
        expect(raw.equals(received)).toBe(true)
        await inbox.subscription.settle(delivery, { outcome: 'release', notBefore: 0 })
      }
      await broker.close()
      client.destroy()
    },
  )

  it('P2: fields of others may have the names of ours: they hold up nobody', async () => {
    const channel = uniqueName('namesake')
    const inbox = await subscribe(open(), channel)
    for (const text of ['{', 'null', '[1]'])
      await node.command('XADD', streamOf(channel), '*', 'lazaret-fields', text, 'lazaret-log', text)
    for (let time = 0; time < 2; time++)
      for (const delivery of await inbox.take(3)) {
        expect(delivery.content).toMatchObject({ type: 'message', payload: {} })
        await inbox.subscription.settle(delivery, { outcome: 'release', notBefore: 0 })
      }
  })

  it('B3: times with fractions of a millisecond will do', async () => {
    const channel = uniqueName('fractions')
    const broker = open({ leaseMs: 1_000 / 3, maxPollMs: 100 / 3 })
    const inbox = await subscribe(broker, channel)
    const [event] = make.events(1, { channel })
    await broker.publish([event!])
    expect(idOf(await inbox.next())).toBe(event!.id)
  })

  it('B3: a retry at no time at all comes at once, and is not lost', async () => {
    const channel = uniqueName('never')
    const broker = open()
    const inbox = await subscribe(broker, channel)
    const [event] = make.events(1, { channel })
    await broker.publish([event!])
    const timeless = { outcome: 'retry', notBefore: Number.NaN, ended: [] } as const
    await inbox.subscription.settle(await inbox.next(), timeless)
    expect(idOf(await inbox.next())).toBe(event!.id)
  })

  it('K9: what a handler that came later has not read is counted, however much it is', async () => {
    const channel = uniqueName('counted')
    const broker = open()
    await (await subscribe(broker, channel, { handler: 'bill' })).subscription.close()
    await broker.publish(make.events(2, { channel }))
    await (await subscribe(broker, channel, { handler: 'ship' })).subscription.close()
    await broker.publish(make.events(2_500, { channel }))
    expect(await broker.depth(channel, 'ship')).toBe(2_500)
  })

  it.each([
    ['many events', 5_000, ''],
    ['large events', 40, 'x'.repeat(200_000)],
  ])(
    'K9: a backlog of %s is counted in portions, so that others are served in between',
    async (_, amount, payload) => {
      const channel = uniqueName('portions')
      const broker = open()
      await (await subscribe(broker, channel, { handler: 'bill' })).subscription.close()
      // The server knows how many entries come after its first one, and not after its second one.
      await broker.publish(make.events(2, { channel }))
      await (await subscribe(broker, channel, { handler: 'ship' })).subscription.close()
      await broker.publish(make.events(amount, { channel, payload }))
      await node.command('CONFIG', 'RESETSTAT')
      expect(await broker.depth(channel, 'ship')).toBe(amount)
      const scripts = /cmdstat_evalsha:calls=(\d+)/.exec(String(await node.command('INFO', 'commandstats')))
      expect(Number(scripts?.[1])).toBeGreaterThanOrEqual(5)
    },
  )

  it('K10: it keeps letters that nobody else has saved, and resolves one whose replay is handled', async () => {
    const channel = uniqueName('kept')
    const broker = open()
    const letters = redisDeadLetters({ url })
    const inbox = await subscribe(broker, channel)
    const [event] = make.events(1, { channel })
    await broker.publish([event!])
    const letter = make.letter({ event: event!, channel })
    await inbox.subscription.settle(await inbox.next(), { outcome: 'dead', letter, saved: false })
    expect(await letters.get(letter.id)).toEqual(letter)
    await timing.eventually(async () => (await broker.depth(channel, 'bill')) === 0, 'it is done with')
    await letters.change(letter.id, { to: 'replaying', at: timing.now(), replayId: 'replay-1' })
    const replay = { handler: 'bill', letterId: letter.id, replayId: 'replay-1' }
    const headers = replayHeaders(event!, replay)
    await broker.publish([{ ...event!, headers }])
    await inbox.done(await inbox.next())
    expect(await letters.get(letter.id)).toMatchObject({ state: 'resolved' })
    await letters.close()
  })

  it.each([2, 3] as const)(
    "E11: works with the caller's own client, RESP%i, and leaves it open",
    async RESP => {
      const channel = uniqueName('client')
      const client = createClient({ url, RESP })
      await client.connect()
      const broker = redisStreams({ client, maxPollMs: 200 })
      const inbox = await subscribe(broker, channel)
      const events = make.events(3, { channel })
      await broker.publish(events)
      const deliveries = await inbox.take(3)
      expect(idsOf(deliveries)).toEqual(events.map(({ id }) => id))
      await inbox.subscription.begin(deliveries[0]!, [])
      await inbox.subscription.settle(deliveries[0]!, { outcome: 'retry', notBefore: 0, ended: [] })
      expect(counts(await inbox.next())).toEqual([1, 0, []])
      await broker.close()
      expect(client.isOpen).toBe(true)
      client.destroy()
    },
  )

  it('B9: it keeps no order of keys, and says so', async () => {
    const ordered = { handler: 'bill', prefetch: 1, ordering: 'by-key' } as const
    await expect(subscribe(open(), 'orders', ordered)).rejects.toThrow(/ordering/)
  })
})
