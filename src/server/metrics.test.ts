import { describe, expect, it } from 'vitest'
import { createWorldAfterOutage } from '../../test/support/outage.ts'
import { PEOPLE, secretOf, serverWorld } from '../../test/support/server-world.ts'
import { memoryBroker } from '../adapters/memory/broker/broker.ts'
import { memorySink } from '../adapters/memory/index.ts'
import { memoryDeadLetters } from '../adapters/memory/letters/dead-letters.ts'
import { memoryStore } from '../adapters/memory/store.ts'
import { yieldToEventLoop } from '../ports/clock.ts'
import { createConsumer } from '../runtime/consumer/consumer.ts'
import { createDispatcher } from '../runtime/dispatcher/dispatcher.ts'
import { createMetrics } from '../runtime/metrics/create-metrics.ts'

/** The lines of a scrape that begin so. */
const linesOf = (text: string, start: string) => text.split('\n').filter(line => line.startsWith(start))

describe('GET /metrics', () => {
  it('E20: is text for Prometheus, for every role that may read', async () => {
    const { ask } = serverWorld({ tokens: PEOPLE })
    expect((await ask('/metrics')).status).toBe(401)
    const { status, headers, text } = await ask('/metrics', { token: secretOf('vic') })
    expect([status, headers.get('content-type')]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8'])
    expect(text).toContain('# TYPE lazaret_events_processed_total counter\n')
    expect(linesOf(text, 'lazaret_')).toEqual([])
  })

  it('E20: letters that wait, by channel over all stores, with the age of the oldest', async () => {
    const one = serverWorld()
    const two = memoryStore({ clock: one.clock })
    const { make, clock } = one
    const sent = (channel: string) => make.letter({ event: make.event({ channel }) })
    const { handler } = sent('orders')
    const letters = await one.bury(sent('orders'), sent('orders'), sent('mail'))
    await two.deadLetters.send({ ...sent('orders'), state: 'quarantined' })
    await one.store.deadLetters.change(letters[0]!.id, { to: 'discarded', at: clock.now() })
    const { ask } = serverWorld({ stores: { one: one.store, two }, clock, metricsPrefix: 'shop_' })
    await clock.advance(60_000)
    const { text } = await ask('/metrics')
    expect(linesOf(text, 'shop_dlq_size')).toEqual([`shop_dlq_size{channel="orders",name="${handler}"} 3`])
    expect(linesOf(text, 'shop_dlq_oldest_age')).toEqual(['shop_dlq_oldest_age_seconds{channel="orders"} 62'])
  })

  it('E20: the channels with most letters are shown, the others as one, and stores are asked once in a while', async () => {
    const { ask, store, make, clock } = serverWorld()
    const at = clock.now()
    let asked = 0
    const stats = store.deadLetters.stats.bind(store.deadLetters)
    store.deadLetters.stats = filter => {
      asked++
      return stats(filter)
    }
    for (let channel = 0; channel < 70; channel++)
      for (let n = 0; n < (channel < 10 ? 1 : 2); n++) {
        const letter = make.letter({ event: make.event({ channel: `c${channel}` }) })
        const cycle = { ...letter.cycle, firstFailedAt: at + channel, lastFailedAt: at + channel }
        await store.deadLetters.send({ ...letter, cycle })
      }
    await clock.advance(10_000)
    const { text } = await ask('/metrics')
    const sizes = linesOf(text, 'lazaret_dlq_size')
    expect(sizes).toHaveLength(51)
    // 20 channels are left: ten with two letters and ten with one, the oldest of all among them.
    expect(sizes).toContain('lazaret_dlq_size{channel="(other)",name="(other)"} 30')
    expect(linesOf(text, 'lazaret_dlq_oldest_age_seconds{channel="(other)"}')).toEqual([
      'lazaret_dlq_oldest_age_seconds{channel="(other)"} 10',
    ])
    const before = asked
    for (let scrape = 0; scrape < 10; scrape++) await ask('/metrics')
    expect(asked).toBe(before)
    await clock.advance(15_000)
    await ask('/metrics')
    expect(asked).toBe(before + 3)
  })

  it('R10: letters that wait name their handler; the largest of a channel are shown, the others as one', async () => {
    const { ask, store, make } = serverWorld()
    const event = () => make.event({ channel: 'orders' })
    for (let handler = 0; handler < 13; handler++)
      for (let n = 0; n < (handler < 10 ? 2 : 1); n++)
        await store.deadLetters.send(make.letter({ event: event(), handler: `h${handler}` }))
    const sizes = linesOf((await ask('/metrics')).text, 'lazaret_dlq_size')
    expect(sizes).toEqual([
      ...Array.from({ length: 10 }, (_, n) => `lazaret_dlq_size{channel="orders",name="h${n}"} 2`),
      'lazaret_dlq_size{channel="orders",name="(other)"} 3',
    ])
  })

  it('R10: a store that cannot count by handler has its letters under the overflow', async () => {
    const { ask, store, make, bury } = serverWorld()
    await bury(make.letter({ event: make.event({ channel: 'orders' }) }))
    store.deadLetters.countByHandler = undefined as never
    expect(linesOf((await ask('/metrics')).text, 'lazaret_dlq_size')).toEqual([
      'lazaret_dlq_size{channel="orders",name="(other)"} 1',
    ])
  })

  it('E20: a store that is down leaves its series out and fails no scrape', async () => {
    const { make, clock, store, bury } = serverWorld()
    await bury(make.letter({ event: make.event({ channel: 'orders' }) }))
    const down = memoryStore({ clock })
    await down.close()
    const both = serverWorld({ stores: { store, down }, clock })
    expect((await both.ask('/metrics')).text).toMatch(/lazaret_dlq_size\{channel="orders",name="[^"]+"\} 1\n/)
    const none = serverWorld({ stores: down, clock })
    const { status, text } = await none.ask('/metrics')
    expect([status, linesOf(text, 'lazaret_dlq_size')]).toEqual([200, []])
  })

  it.each([1, 2])(
    'E20: of %i stores one goes down: its letters still count, so that no alert resolves',
    async count => {
      const { make, clock, store, bury } = serverWorld()
      await bury(make.letter({ event: make.event({ channel: 'orders' }) }))
      const consumer = createConsumer({
        broker: memoryBroker({ clock }),
        deadLetters: store.deadLetters,
        channel: 'orders',
        leaveOpen: true,
        handle: async () => {},
        clock,
      })
      const stores = count === 1 ? { store } : { other: memoryStore({ clock }), store }
      const { ask } = serverWorld({ stores, clock, consumers: [consumer] })
      const scrape = async () => {
        const { text } = await ask('/metrics')
        const size = linesOf(text, 'lazaret_dlq_size').filter(line => line.endsWith(' 1'))
        return [size.length, linesOf(text, 'lazaret_dlq_oldest_age_seconds')]
      }
      await clock.advance(60_000)
      expect(await scrape()).toEqual([1, ['lazaret_dlq_oldest_age_seconds{channel="orders"} 60']])
      const down = () => Promise.reject(new Error('down'))
      const { stats, countByHandler } = store.deadLetters
      Object.assign(store.deadLetters, { stats: down, countByHandler: down })
      await clock.advance(120_000)
      expect(await scrape()).toEqual([1, ['lazaret_dlq_oldest_age_seconds{channel="orders"} 180']])
      Object.assign(store.deadLetters, { stats, countByHandler })
      const { letters } = await store.deadLetters.list({ limit: 1 })
      await store.deadLetters.change(letters[0]!.id, { to: 'discarded', at: clock.now() })
      await clock.advance(120_000)
      expect(await scrape()).toEqual([0, []])
      await consumer.close()
    },
  )

  it('E20: a store that never answers is waited for once, and the others have their series in time', async () => {
    const { make, clock, store, bury } = serverWorld()
    await bury(make.letter({ event: make.event({ channel: 'orders' }) }))
    const silent = memoryStore({ clock })
    silent.deadLetters.stats = () => new Promise(() => {})
    const both = serverWorld({ stores: { store, silent }, clock })
    const scraped = both.ask('/metrics')
    await clock.advance(8_000)
    const { text } = await scraped
    expect(linesOf(text, 'lazaret_dlq_size')).toEqual([
      expect.stringMatching(/^lazaret_dlq_size\{channel="orders",name="[^"]+"\} 1$/),
    ])
    expect(linesOf(text, 'lazaret_dlq_oldest_age_seconds')).toHaveLength(1)
  })

  it('E20: consumers and dispatchers of the process are watched, with the metrics they count in', async () => {
    const { clock, store } = serverWorld()
    const metrics = createMetrics({ clock })
    const { observer } = metrics
    const broker = memoryBroker({ clock })
    const consumer = createConsumer({
      broker,
      channel: 'orders',
      name: 'bill',
      deadLetters: store.deadLetters,
      clock,
      observer,
      handle: () => {},
    })
    const events = createDispatcher({
      sinks: { loki: memorySink() },
      deadLetters: memoryDeadLetters(),
      clock,
      observer,
    })
    const { ask, server } = serverWorld({
      stores: store,
      clock,
      metrics,
      consumers: [consumer],
      dispatchers: [events],
    })
    await events.track({ type: 'order.paid', payload: {} })
    consumer.breaker?.force('open')
    const { text } = await ask('/metrics')
    for (const line of [
      'lazaret_breaker_state{name="bill"} 2',
      'lazaret_breaker_state{name="loki"} 0',
      'lazaret_retry_queue_size{name="bill"} 0',
      'lazaret_retry_queue_size{name="loki"} 0',
      'lazaret_dispatch_success_ratio 1',
      'lazaret_dlq_size{channel="orders",name="bill"} 0',
    ])
      expect(text).toContain(`${line}\n`)
    await server.close()
    expect((await metrics.read()).find(({ name }) => name === 'dlq_size')?.samples).toEqual([])
    await events.close()
  })

  it('E20, B12: a server that counts for itself counts the replays it runs, and what became of them', async () => {
    const shop = await createWorldAfterOutage(5)
    const { store, clock } = shop
    const [stillBroken] = (await store.deadLetters.list()).letters
    shop.world.broken = id => id === stillBroken?.event.id
    const replay = await shop.plan({ stages: ['rest'] })
    await shop.start(replay)
    const { ask, server } = serverWorld({ stores: store, clock })
    await ask('/healthz')
    for (let second = 0; second < 600; second++) await clock.advance(1_000)
    const { text } = await ask('/metrics')
    expect(await store.replays.counts(replay.id)).toMatchObject({ recovered: 4, failed_same_cause: 1 })
    for (const line of [
      `lazaret_dlq_replayed_total{channel="orders",name="${stillBroken!.handler}"} 5`,
      'lazaret_dlq_replay_failed_total{channel="orders"} 1',
      'lazaret_replay_outcomes_total{outcome="recovered"} 4',
      'lazaret_replay_outcomes_total{outcome="failed_again"} 1',
    ])
      expect(text).toContain(`${line}\n`)
    await server.close()
  })

  it('E20, B12: what a stopped replay had sent is counted once, however many look at it', async () => {
    const shop = await createWorldAfterOutage(40)
    const { store, clock } = shop
    shop.world.handlerMs = 300
    const replay = await shop.plan({ stages: ['rest'] })
    await shop.start(replay)
    expect(await shop.run(replay)).toMatchObject({ state: 'halted' })
    const { sent } = await store.replays.counts(replay.id)
    await clock.advance(600_000)
    // As slow as a store on another machine: who looks now still sees all of them as sent.
    const record = store.replays.record.bind(store.replays)
    store.replays.record = async (...items) => {
      await yieldToEventLoop()
      await record(...items)
    }
    const { ask, server } = serverWorld({ stores: store, clock })
    await Promise.all(Array.from({ length: 5 }, () => ask(`/api/v1/replays/${replay.id}`)))
    const { text } = await ask('/metrics')
    expect(linesOf(text, 'lazaret_replay_outcomes_total')).toEqual([
      `lazaret_replay_outcomes_total{outcome="failed_again"} ${sent}`,
    ])
    await server.close()
  })
})
