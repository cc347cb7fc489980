import { afterAll, describe, expect, it } from 'vitest'
import { findNats } from '../../../../test/services/nats.ts'
import { OutsideNats } from '../../../../test/support/outside-nats.ts'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import { replayHeaders } from '../../../core/event/replay-headers.ts'
import { systemClock, systemRandom } from '../../../ports/clock.ts'
import { TestTiming, uniqueName } from '../../../testing/conformance/harness.ts'
import { createFactory } from '../../../testing/factories.ts'
import { memoryDeadLetters } from '../../memory/letters/dead-letters.ts'
import { streamsOf } from '../broker/streams/names.ts'
import type { HeaderList } from '../connection/headers.ts'
import { nats } from '../index.ts'
import { natsCollector } from './collector.ts'

const found = await findNats()
const why = found.found ? '' : ` (skipped: ${found.why})`
const server = found.found ? await found.start() : undefined
const outside = server && new OutsideNats(server.url)
const timing = new TestTiming({})
const make = createFactory({ random: systemRandom })
afterAll(async () => {
  await outside?.close()
  await server?.close()
})

const MAX_DELIVER = 2
const ALL_BYTES = new Uint8Array(Array.from({ length: 256 }, (_, byte) => byte))

/** A stream with the subjects `name.>`. */
async function createStream(name: string): Promise<string> {
  await outside!.jetstream.createStream({ name, subjects: [`${name}.>`] })
  return name
}

async function publish(subject: string, data: Uint8Array | string, headers: HeaderList = []): Promise<void> {
  await outside!.link.call(subject, data, headers)
}

function collecting(options: object) {
  const store = memoryDeadLetters()
  const errors: unknown[] = []
  const name = uniqueName('nats')
  const open = () =>
    natsCollector({
      url: server!.url,
      name,
      handledAfterMs: 300,
      pollIntervalMs: 20,
      onError: error => errors.push(error),
      ...options,
    })
  const letters = async (count: number): Promise<readonly DeadLetter[]> => {
    await timing.eventually(async () => (await store.stats()).count >= count, `${count} letters`)
    return (await store.list({ limit: 500 })).letters
  }
  return { store, open, errors, letters }
}

/** Sends a letter back, as a replay does. */
async function replay(
  store: ReturnType<typeof memoryDeadLetters>,
  collector: ReturnType<typeof natsCollector>,
  { id, handler }: DeadLetter,
) {
  await store.change(id, { to: 'replaying', at: systemClock.now(), replayId: 'r1' })
  const { event, origin, replays } = (await store.get(id))!
  const headers = replayHeaders(event, { attempt: replays, replayId: 'r1', letterId: id, handler })
  await collector.send([{ ...event, headers }], origin)
}

/** Asks for the next message of a consumer as often as it takes the server to give up on it, and refuses it each time. */
async function refuseForGood(stream: string, consumer: string): Promise<void> {
  // The server gives up when it is asked after the last delivery.
  for (let asked = 0; asked <= MAX_DELIVER; asked++) await refuse(stream, consumer)
}

async function refuse(stream: string, consumer: string): Promise<void> {
  const { link } = outside!
  const connection = await link.get()
  const inbox = link.newInbox()
  const { promise, resolve } = Promise.withResolvers<string | undefined>()
  const subscription = connection.subscribe(inbox, {
    callback: (_, { reply }) => resolve(reply),
  })
  const request = JSON.stringify({ batch: 1, expires: 500_000_000 })
  connection.publish(`$JS.API.CONSUMER.MSG.NEXT.${stream}.${consumer}`, request, { reply: inbox })
  const reply = await promise
  if (reply?.startsWith('$JS.ACK.')) connection.publish(reply, '-NAK')
  subscription.unsubscribe()
}

describe.runIf(found.found)(`a collector of NATS${why}`, () => {
  it('"Collector for dead-letter streams of others": sends back a message byte for byte, with its headers', async () => {
    const orders = await createStream(uniqueName('ORDERS'))
    const dead = await createStream(`${orders}_DLQ`)
    const { store, open, errors, letters } = collecting({ streams: [`${orders}_*`] })
    const poison: HeaderList = [
      ['reason_poisoned', 'nothing left'],
      ['topic_poisoned', `${orders}.placed`],
      ['handler_poisoned', 'billing'],
    ]
    const own: HeaderList = [
      ['trace', 'one'],
      ['trace', 'two'],
      ['Tenant', 'grün'],
    ]
    const bodies = [ALL_BYTES, Buffer.from('{ "price": 1.0 }'), Buffer.from('plain words')]
    for (const body of bodies) await publish(`${dead}.any`, body, [...own, ...poison])
    const collector = open()
    collector.start(store)
    for (const letter of await letters(bodies.length)) {
      expect(letter).toMatchObject({
        handler: 'billing',
        state: 'dead',
        cycle: { failure: { message: 'nothing left' } },
        origin: { subject: `${orders}.placed`, collectedFrom: dead, writtenBy: 'watermill' },
      })
      expect(collector.routeOf?.(letter, undefined)).toEqual({ kind: 'durable', via: collector.name })
      await replay(store, collector, letter)
    }
    const returned = await outside!.messages(orders)
    for (const body of bodies) {
      const same = returned.find(({ data }) => Buffer.compare(data, body) === 0)!
      expect(same.subject).toBe(`${orders}.placed`)
      const isOurs = (name: string) => /^(?:x-|Nats-)/.test(name)
      expect(same.headers.filter(([name]) => !isOurs(name))).toEqual(own)
    }
    await collector.close()
    expect(errors).toEqual([])
  })

  it('"max-deliver … never silently exceeded (its advisory becomes a letter)", and a second time its next cycle', async () => {
    const orders = await createStream(uniqueName('ORDERS'))
    const config = { durable_name: 'billing', ack_policy: 'explicit', max_deliver: MAX_DELIVER }
    await outside!.jetstream.createConsumer(orders, config)
    const { store, open, errors, letters } = collecting({ maxDeliver: [orders] })
    const collector = open()
    collector.start(store)
    await timing.eventually(
      async () => (await outside!.jetstream.streamInfo('LAZARET_ADVISORIES')) !== undefined,
      'the stream of advisories exists',
    )
    await publish(`${orders}.placed`, '{"order":17}', [['tenant', 'blue']])
    await refuseForGood(orders, 'billing')
    const [letter] = (await letters(1)) as [DeadLetter]
    expect(letter).toMatchObject({
      handler: 'billing',
      cycle: { attemptCount: MAX_DELIVER, failure: { name: 'MaxDeliverExceeded' } },
      event: { type: `${orders}.placed`, payload: { order: 17 }, headers: { tenant: 'blue' } },
      origin: { stream: orders, subject: `${orders}.placed`, offset: 1, writtenBy: 'server' },
    })
    await replay(store, collector, letter)
    await refuseForGood(orders, 'billing')
    await timing.eventually(async () => (await store.get(letter.id))!.cycle.number === 1, 'the second cycle')
    expect((await store.stats()).count).toBe(1)
    await collector.close()
    expect(errors).toEqual([])
  })

  it('F8: stops, leaves the messages that arrive meanwhile, counts them, and goes on where it was', async () => {
    const dead = await createStream(uniqueName('ORDERS_DLQ'))
    const { store, open, letters } = collecting({ streams: [dead] })
    const first = open()
    first.start(store)
    await publish(`${dead}.one`, '1')
    const [{ id }] = (await letters(1)) as [DeadLetter]
    await timing.eventually(async () => (await first.depths())[0]?.depth === 0, 'the position is written')
    await first.close()
    await publish(`${dead}.two`, '2')
    await publish(`${dead}.three`, '3')
    // The letter of the first one is gone, so that it would be seen again.
    await store.delete(id)
    const second = open()
    expect(await second.depths()).toEqual([{ queue: dead, depth: 2 }])
    second.start(store)
    const both = await letters(2)
    expect(await store.get(id)).toBeUndefined()
    expect(both.map(({ event }) => event.payload).sort()).toEqual([2, 3])
    const reason = expect.stringContaining('nothing says which subject')
    expect(second.routeOf?.(both[0]!, undefined)).toEqual({ kind: 'none', reason })
    await second.close()
  })

  it('E21: says which messages a stream lost before they were collected, and collects a stream that is created again', async () => {
    const dead = await createStream(uniqueName('ORDERS_DLQ'))
    const { store, open, errors, letters } = collecting({ streams: [dead] })
    await publish(`${dead}.one`, '1')
    const first = open()
    first.start(store)
    await letters(1)
    await timing.eventually(async () => (await first.depths())[0]?.depth === 0, 'the position is written')
    await first.close()
    for (const text of ['2', '3', '4']) await publish(`${dead}.more`, text)
    await outside!.request(`STREAM.PURGE.${dead}`, { seq: 4 })
    const second = open()
    second.start(store)
    await letters(2)
    expect(errors.map(String)).toEqual([expect.stringContaining('the messages from 2 to 3 are gone')])
    await outside!.request(`STREAM.DELETE.${dead}`)
    await createStream(dead)
    await publish(`${dead}.again`, '5')
    await letters(3)
    await second.close()
  })

  it('B20: a letter of Lazaret is the letter that its consumer wrote, and returns to its handler', async () => {
    const channel = uniqueName('own')
    const broker = nats({ url: server!.url })
    const [event] = make.events(1, { channel })
    const { promise, resolve } = Promise.withResolvers<DeadLetter>()
    const options = { channel, handler: 'bill', prefetch: 1, ordering: 'none' } as const
    const ids: string[] = []
    const subscription = await broker.subscribe(options, delivery => {
      if ('id' in delivery.content) ids.push(delivery.content.id)
      const letter = make.letter({ event: event!, channel, handler: 'bill' })
      const settled = subscription.settle(delivery, { outcome: 'dead', letter, saved: false })
      void Promise.resolve(settled).then(() => resolve(letter))
    })
    await broker.publish([event!])
    const letter = await promise
    const { store, open, letters } = collecting({ streams: [streamsOf(channel).letters] })
    const collector = open()
    collector.start(store)
    const [collected] = (await letters(1)) as [DeadLetter]
    expect(collected).toMatchObject({ id: letter.id, handler: 'bill', event: { id: event!.id } })
    await replay(store, collector, collected)
    await timing.eventually(() => ids.length === 2, 'the handler gets it again')
    expect(ids).toEqual([event!.id, event!.id])
    await collector.close()
    await broker.close()
  })
})
