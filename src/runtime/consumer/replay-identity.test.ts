import { describe, expect, it } from 'vitest'
import { refused, consumerWorld as world } from '../../../test/support/consumer-world.ts'
import { memoryDeadLetters } from '../../adapters/memory/index.ts'
import { memorySpill } from '../../adapters/memory/letters/spill.ts'
import { letterId } from '../../core/dead-letter/identity.ts'
import type { DeadLetter } from '../../core/dead-letter/letter.ts'
import { fromCloudEvent } from '../../core/event/cloudevents.ts'
import { replayHeaders } from '../../core/event/replay-headers.ts'
import { FakeClock } from '../../testing/fake-clock.ts'
import { createConsumer } from './consumer.ts'
import { withDeadLetters } from './with-dead-letters.ts'

/** The headers of a replay, as a handler sees and copies them. */
const COPIED = {
  'x-replayed': 'true',
  'x-original-id': 'first',
  'x-replay-id': 'r1',
  'x-replay-attempt': '1',
  'x-letter-id': 'letter-of-first',
  'x-replay-handler': 'bill',
}

describe('events of strangers that share an id', () => {
  it('E9: CloudEvents of two sources become two letters, and a replay resolves its own alone', async () => {
    let isBroken = true
    const shop = world({
      name: 'bill',
      retry: { attempts: 1 },
      handle: async () => {
        if (isBroken) throw refused()
      },
    })
    await shop.consumer.start()
    const [eu, us] = ['/shop/eu', '/shop/us'].map(source =>
      fromCloudEvent(
        { specversion: '1.0', id: '7', source, type: 'order.placed', data: { source } },
        { channel: 'orders', occurredAt: shop.clock.now() },
      ),
    )
    await shop.broker.publish([eu!, us!])
    await shop.clock.advance(1_000)
    const sources = async (state: DeadLetter['state']) =>
      (await shop.letters()).filter(letter => letter.state === state).map(({ event }) => event.payload)
    expect(await sources('dead')).toEqual([{ source: '/shop/us' }, { source: '/shop/eu' }])
    isBroken = false
    const [, first] = await shop.letters()
    const { id, event } = first!
    await shop.deadLetters.change(id, { to: 'replaying', at: shop.clock.now(), replayId: 'r1' })
    const replay = { letterId: id, handler: 'bill', replayId: 'r1', attempt: 1 }
    await shop.broker.publish([{ ...event, headers: replayHeaders(event, replay) }])
    await shop.clock.advance(1_000)
    expect(await sources('resolved')).toEqual([{ source: '/shop/eu' }])
    expect(await sources('dead')).toEqual([{ source: '/shop/us' }])
    await shop.consumer.close()
  })
})

describe('headers that were copied from a replay', () => {
  it('B14: a follow-up with the headers of its replayed event is handled', async () => {
    const shop = world({
      name: 'bill',
      handle: async event => {
        await shop.publish({ id: `${event.id}-shipped`, channel: 'shipping', headers: event.headers })
      },
    })
    const shipped: string[] = []
    const { broker, clock } = shop
    const shipping = createConsumer({
      broker,
      channel: 'shipping',
      name: 'ship',
      clock,
      handle: async ({ id }) => void shipped.push(id),
    })
    await shop.consumer.start()
    await shipping.start()
    await shop.publish({ id: 'first', headers: COPIED })
    await clock.advance(1_000)
    expect(shipped).toEqual(['first-shipped'])
    await shipping.close()
    await shop.consumer.close()
  })

  it('B14: an event that arrives with them is handled, and fails as what it is', async () => {
    const shop = world({
      name: 'ship',
      retry: { attempts: 1 },
      handle: async () => {
        throw refused()
      },
    })
    await shop.consumer.start()
    await shop.publish({ id: 'second', headers: COPIED })
    await shop.clock.advance(1_000)
    expect(await shop.letters()).toMatchObject([
      { event: { id: 'second' }, replays: 0, cycle: { number: 0 } },
    ])
    await shop.consumer.close()
  })

  it('B14: withDeadLetters runs the handler', async () => {
    const handled: string[] = []
    const safe = withDeadLetters(async (message: { readonly id: string }) => handled.push(message.id), {
      source: 'orders',
      name: 'mailer',
      clock: new FakeClock(),
      deadLetters: memoryDeadLetters(),
      describe: ({ id }) => ({ id, headers: COPIED }),
    })
    await safe({ id: 'second' })
    expect(handled).toEqual(['second'])
    await safe.close()
  })
})

describe('replay headers that somebody else wrote', () => {
  const forged = (id: string, replay: Parameters<typeof replayHeaders>[1]) =>
    replayHeaders({ id, idempotencyKey: id, headers: {} }, replay)

  /** One letter of the event `a` in the state that is asked for. */
  async function shopWithLetter(
    state: 'dead' | 'replaying',
    options: Partial<Parameters<typeof world>[0]> = {},
  ) {
    const line = { isDown: true }
    const shop = world({
      ...options,
      name: 'bill',
      retry: { attempts: 1 },
      handle: async ({ id }) => {
        if (line.isDown) throw refused()
        shop.handled.push(id)
      },
    })
    await shop.consumer.start()
    await shop.publish({ id: 'a' })
    await shop.clock.advance(1_000)
    const [letter] = await shop.letters()
    const at = shop.clock.now()
    if (state === 'replaying')
      await shop.deadLetters.change(letter!.id, { to: 'replaying', at, replayId: 'r1' })
    // What fails from now on fails later than anything that is known of the letter.
    await shop.clock.advance(1_000)
    return { shop, line, letter: (await shop.letters())[0]! }
  }

  it.each([
    ['dead', 'a', { replayId: 'r1' }],
    ['dead', 'a', { replayId: 'r1', handler: 'bill' }],
    ['replaying', 'a', { replayId: 'guessed', handler: 'bill' }],
    ['replaying', 'a', { handler: 'bill' }],
    ['replaying', 'a', { replayId: 'r1', handler: 'bill', attempt: 2 }],
    ['replaying', 'stranger', { replayId: 'r1' }],
  ] as const)('B14: a %s letter stays so when %s is handled with %o', async (state, id, replay) => {
    const { shop, line, letter } = await shopWithLetter(state)
    line.isDown = false
    const headers = forged(id, { letterId: letter.id, ...replay })
    await shop.publish({ id, headers })
    await shop.clock.advance(1_000)
    expect(shop.handled).toEqual([id])
    expect(await shop.letters()).toEqual([letter])
    expect(shop.recorder.of('replayOutcome')).toEqual([])
    await shop.consumer.close()
  })

  it.each([
    ['dead', 99],
    ['replaying', 1],
    ['replaying', 99],
  ] as const)(
    'B14: a %s letter stays so when its event fails under a forged replay %i',
    async (state, attempt) => {
      const { shop, letter } = await shopWithLetter(state)
      const headers = forged('a', { letterId: letter.id, handler: 'bill', replayId: 'guessed', attempt })
      await shop.publish({ id: 'a', headers })
      await shop.clock.advance(1_000)
      const [after] = await shop.letters()
      expect(after).toMatchObject({ state, replays: letter.replays, cycle: { number: 0 } })
      expect(after!.cycle.lastFailedAt).toBeGreaterThan(letter.cycle.lastFailedAt)
      await shop.consumer.close()
    },
  )

  it.each([
    ['a forged replay', { replayId: 'guessed', attempt: 1 }, 'resolved'],
    ['a forged replay', { replayId: 'guessed', attempt: 1 }, 'dead'],
    ['a forged later replay', { replayId: 'guessed', attempt: 99 }, 'resolved'],
    ['a plain copy', undefined, 'resolved'],
    ['a plain copy', undefined, 'dead'],
  ] as const)(
    'B14: after %s (%o) of its event has failed, a replaying letter is %s by its own replay',
    async (_, claim, state) => {
      const { shop, line, letter } = await shopWithLetter('replaying')
      const sent = { letterId: letter.id, handler: 'bill' }
      await shop.publish({
        id: 'a',
        payload: 'copy',
        ...(claim && { headers: forged('a', { ...sent, ...claim }) }),
      })
      await shop.clock.advance(1_000)
      const [between] = await shop.letters()
      expect(between).toMatchObject({ state: 'replaying', replays: 1, replayId: 'r1', cycle: { number: 0 } })
      expect(between!.cycle.lastFailedAt).toBeGreaterThan(letter.updatedAt)
      line.isDown = state === 'dead'
      await shop.publish({ id: 'a', headers: forged('a', { ...sent, replayId: 'r1', attempt: 1 }) })
      await shop.clock.advance(1_000)
      const number = state === 'dead' ? 1 : 0
      expect(await shop.letters()).toMatchObject([{ state, replays: 1, cycle: { number } }])
      await shop.consumer.close()
    },
  )

  it.each([
    ['dead', { replayId: 'guessed', attempt: 99 }, { state: 'dead', replays: 0, cycle: { number: 0 } }],
    ['dead', { replayId: 'r1', attempt: 1 }, { state: 'dead', replays: 0, cycle: { number: 0 } }],
    [
      'replaying',
      { replayId: 'guessed', attempt: 99 },
      { state: 'replaying', replays: 1, cycle: { number: 0 } },
    ],
    [
      'replaying',
      { replayId: 'guessed', attempt: 1 },
      { state: 'replaying', replays: 1, cycle: { number: 0 } },
    ],
    ['replaying', { replayId: 'r1', attempt: 1 }, { state: 'dead', replays: 1, cycle: { number: 1 } }],
  ] as const)(
    'B14, B7: a claim that could not be checked while the store was down is checked when it is back: %s, %o',
    async (state, claim, expected) => {
      const { shop, letter } = await shopWithLetter(state, { spill: memorySpill() })
      const { deadLetters, clock } = shop
      const { get, send } = deadLetters
      deadLetters.get = () => Promise.reject(refused())
      deadLetters.send = () => Promise.reject(refused())
      const headers = forged('a', { letterId: letter.id, handler: 'bill', ...claim })
      await shop.publish({ id: 'a', headers })
      await clock.advance(1_000)
      expect(shop.recorder.of('letterSpilled')).toHaveLength(1)
      Object.assign(deadLetters, { get, send })
      await clock.advance(60_000)
      expect(shop.recorder.of('spillDrained')).toHaveLength(1)
      const [after] = await shop.letters()
      expect(after).toMatchObject(expected)
      expect(after!.cycle.lastFailedAt).toBeGreaterThan(letter.updatedAt)
      await shop.consumer.close()
    },
  )

  it('B14, B7: an event without a letter that claims to be a replay is dead, not parked, also if the store was down', async () => {
    const { shop } = await shopWithLetter('dead', { spill: memorySpill() })
    const { deadLetters, clock } = shop
    const { get, send } = deadLetters
    deadLetters.get = () => Promise.reject(refused())
    deadLetters.send = () => Promise.reject(refused())
    await shop.publish({ id: 'b', headers: forged('b', { replayId: 'r9', attempt: 99, handler: 'bill' }) })
    await clock.advance(1_000)
    Object.assign(deadLetters, { get, send })
    await clock.advance(60_000)
    const stored = await deadLetters.get(letterId('orders', 'bill', { id: 'b' }))
    expect(stored).toMatchObject({ state: 'dead', replays: 0, cycle: { number: 0 } })
    await shop.consumer.close()
  })

  it.each([
    ['fails', true, 'dead'],
    ['succeeds', false, 'resolved'],
  ] as const)(
    'B14: an earlier replay that comes back and fails leaves the letter to the one under way, which %s',
    async (_, isDown, state) => {
      const { shop, line, letter } = await shopWithLetter('replaying')
      const { deadLetters, clock } = shop
      await deadLetters.change(letter.id, { to: 'dead', at: clock.now() })
      await deadLetters.change(letter.id, { to: 'replaying', at: clock.now(), replayId: 'r2' })
      const sent = { letterId: letter.id, handler: 'bill' }
      await clock.advance(1_000)
      await shop.publish({ id: 'a', headers: forged('a', { ...sent, replayId: 'r1', attempt: 1 }) })
      await clock.advance(1_000)
      expect(await shop.letters()).toMatchObject([{ state: 'replaying', replays: 2, cycle: { number: 0 } }])
      line.isDown = isDown
      await shop.publish({ id: 'a', headers: forged('a', { ...sent, replayId: 'r2', attempt: 2 }) })
      await clock.advance(1_000)
      const number = isDown ? 2 : 0
      expect(await shop.letters()).toMatchObject([{ state, replays: 2, cycle: { number } }])
      await shop.consumer.close()
    },
  )

  it('B14: a forged replay that names the replaying letter of another handler is dead after its failure, not parked', async () => {
    const { shop, letter } = await shopWithLetter('replaying')
    const { broker, deadLetters, clock } = shop
    const ship = createConsumer({
      broker,
      channel: 'shipping',
      name: 'ship',
      clock,
      deadLetters,
      retry: { attempts: 1 },
      handle: async () => {
        throw refused()
      },
    })
    await ship.start()
    const headers = forged('a', { letterId: letter.id, replayId: 'guessed', attempt: 99 })
    await shop.publish({ id: 'a', channel: 'shipping', headers })
    await clock.advance(1_000)
    const id = letterId('shipping', 'ship', { id: 'a' })
    expect(await deadLetters.get(id)).toMatchObject({ state: 'dead', replays: 0 })
    expect(await deadLetters.get(letter.id)).toEqual(letter)
    await ship.close()
    await shop.consumer.close()
  })

  it('B14: an event without a letter that claims to be a replay is dead after its failure, not parked', async () => {
    const { shop } = await shopWithLetter('dead')
    await shop.publish({ id: 'b', headers: forged('b', { replayId: 'r9', attempt: 99, handler: 'bill' }) })
    await shop.clock.advance(1_000)
    const id = letterId('orders', 'bill', { id: 'b' })
    expect(await shop.deadLetters.get(id)).toMatchObject({ state: 'dead', replays: 0 })
    await shop.consumer.close()
  })
})
