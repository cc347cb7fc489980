import { describe, expect, it } from 'vitest'
import { changed } from '../../../test/support/conformance.ts'
import { discard, MINUTE_MS, saveManyLetters, watchingWorld } from '../../../test/support/watching-world.ts'
import { memoryBroker, memoryLedger, memoryStore } from '../../adapters/memory/index.ts'
import type { ChannelLimits } from '../../core/watch/options.ts'
import type { Ledger } from '../../ports/ledger.ts'
import type { Notice } from '../../ports/notifier.ts'
import type { Store } from '../../ports/store.ts'
import { createConsumer } from '../../runtime/consumer/consumer.ts'
import { FakeClock } from '../../testing/fake-clock.ts'

describe('alerts', () => {
  it('K7: crossing a limit is told once, and once again when it is over', async () => {
    const world = watchingWorld({ watch: { dominance: 1 } })
    const { store, told } = world
    const letters = await saveManyLetters(world, 100)
    await world.ask('/healthz')
    await world.minute(3)
    expect(told()).toEqual([])
    await saveManyLetters(world, 1)
    await world.minute(4)
    expect(told()).toEqual([['orders', 'depth', true, 101]])
    expect((await world.ask('/api/v1/overview')).body.alerts).toEqual([
      {
        store: 'main',
        channel: 'orders',
        rule: 'depth',
        since: new Date(world.notices[0]!.at).toISOString(),
        value: 101,
        limit: 100,
      },
    ])
    await discard(store, letters.slice(0, 60))
    await world.minute(2)
    expect(told().length).toBe(1)
    await world.minute(1)
    expect(told().slice(1)).toEqual([['orders', 'depth', false, 41]])
    expect((await world.ask('/api/v1/overview')).body.alerts).toEqual([])
    await world.server.close()
  })

  it('R11: a channel has its own limits, and the others those of all', async () => {
    const channels = { orders: { depth: 2 }, mails: { ageMs: 5 * MINUTE_MS } }
    const world = watchingWorld({ watch: { dominance: 1, depth: 4, channels } })
    for (const channel of ['orders', 'mails', 'users']) await saveManyLetters(world, 3, channel)
    await world.ask('/healthz')
    await world.minute(7)
    expect(world.told()).toEqual([
      ['orders', 'depth', true, 3],
      ['mails', 'age', true, expect.any(Number)],
    ])
    expect(world.notices.map(({ limit }) => limit)).toEqual([2, 5 * MINUTE_MS])
    await world.server.close()
  })

  it('R11: letters that fail within an hour are told where a limit is set, and it is over when they are older', async () => {
    const watch = { dominance: 1, ageMs: 24 * 60 * MINUTE_MS, channels: { orders: { ratePerHour: 2 } } }
    const world = watchingWorld({ watch })
    await saveManyLetters(world, 3, 'orders')
    await saveManyLetters(world, 9, 'mails')
    await world.ask('/healthz')
    await world.minute(2)
    expect(world.told()).toEqual([['orders', 'rate', true, 3]])
    await world.minute(64)
    expect(world.told().slice(1)).toEqual([['orders', 'rate', false, 0]])
    await world.server.close()
  })

  it('R11: a consumer sets the limits of its channel, the lowest of several counts, and the server has the last word', async () => {
    const { clock, store } = watchingWorld()
    const consumer = (channel: string, name: string, watch: ChannelLimits) =>
      createConsumer({
        broker: memoryBroker({ clock }),
        channel,
        name,
        deadLetters: store.deadLetters,
        clock,
        watch,
        handle: () => {},
      })
    const consumers = [
      consumer('orders', 'bill', { depth: 9 }),
      consumer('orders', 'ship', { depth: 1 }),
      consumer('mails', 'mailer', { depth: 1 }),
    ]
    const watch = { dominance: 1, channels: { mails: { depth: 50 } } }
    const world = watchingWorld({ stores: store, clock, consumers, watch })
    for (const channel of ['orders', 'mails'])
      for (let n = 0; n < 2; n++) await store.deadLetters.send(world.make.letter({ channel }))
    await world.ask('/healthz')
    await world.minute(2)
    expect(world.told()).toEqual([['orders', 'depth', true, 2]])
    expect(world.notices[0]?.limit).toBe(1)
    await world.server.close()
    for (const each of consumers) await each.close()
  })

  it('K7: age and one error that dominates are told with what they are', async () => {
    const world = watchingWorld()
    const letters = await saveManyLetters(world, 11)
    await world.ask('/healthz')
    await world.minute(40)
    expect(world.told()).toEqual([
      ['orders', 'dominance', true, 1],
      ['orders', 'age', true, 31 * MINUTE_MS],
    ])
    const { failure } = letters[0]!.cycle
    expect(world.notices[0]).toMatchObject({
      kind: 'channel_alert',
      limit: 0.5,
      error: { fingerprint: failure!.fingerprint.id, name: failure!.name },
    })
    await world.server.close()
  })

  it('K7: an alert that was sent is not sent again after a restart, and its end is sent', async () => {
    const world = watchingWorld({ watch: { dominance: 1 } })
    const { clock, store } = world
    const letters = await saveManyLetters(world, 150)
    await world.ask('/healthz')
    await world.minute(15)
    expect(world.told()).toEqual([['orders', 'depth', true, 150]])
    const { since } = (await world.ask('/api/v1/overview')).body.alerts[0]
    await world.server.close()

    const next = watchingWorld({ stores: store, clock, watch: { dominance: 1 } })
    await next.ask('/healthz')
    await world.minute(2)
    expect(next.told()).toEqual([])
    // It began long before the snapshots that the trend is of.
    expect((await next.ask('/api/v1/overview')).body.alerts[0].since).toBe(since)
    await discard(store, letters)
    await world.minute(4)
    expect(next.told()).toEqual([['orders', 'depth', false, 0]])
    // The receiver may be as new as this server, and not know that the alert began.
    expect(next.notices[0]!.toldSince).toBe(Date.parse(since))
    await next.server.close()
  })

  it('K7: of two servers one sends an alert, also when a server hangs and works on without its lease', async () => {
    const clock = new FakeClock()
    const store = memoryStore({ clock })
    const ledger: Ledger = store.ledger!
    const line = { isDown: false }
    // It believes that it still has the lease, as a process does that was stopped for a while.
    const believing = changed(ledger, () => ({
      renew: (...args) => (line.isDown ? Promise.resolve(true) : ledger.renew(...args)),
    }))
    const hanging: Store = { ...store, ledger: believing }
    const first = watchingWorld({ stores: hanging, clock, watch: { dominance: 1 } })
    const second = watchingWorld({ stores: store, clock, watch: { dominance: 1 } })
    await first.ask('/healthz')
    await second.ask('/healthz')
    line.isDown = true
    await clock.advance(20_000)
    const letters = await saveManyLetters({ ...first, store }, 150)
    await clock.advance(4 * MINUTE_MS)
    expect([...first.told(), ...second.told()]).toEqual([['orders', 'depth', true, 150]])
    await discard(store, letters)
    await clock.advance(6 * MINUTE_MS)
    expect([...first.told(), ...second.told()].slice(1)).toEqual([['orders', 'depth', false, 0]])
    await Promise.all([first.server.close(), second.server.close()])
  })

  it('K7: an alert that a server did not send before it died is sent by the next one, and so is its end', async () => {
    const notifier = { notify: () => Promise.reject(new Error('killed')) }
    const world = watchingWorld({ watch: { dominance: 1 }, notifier })
    const { clock, store } = world
    const letters = await saveManyLetters(world, 150)
    await world.ask('/healthz')
    await world.minute(1)
    expect((await world.ask('/api/v1/overview')).body.alerts).toHaveLength(1)
    await world.server.close()

    const next = watchingWorld({ stores: store, clock, watch: { dominance: 1 } })
    await next.ask('/healthz')
    await world.minute(3)
    expect(next.told()).toEqual([['orders', 'depth', true, 150]])
    await discard(store, letters)
    await world.minute(4)
    expect(next.told().slice(1)).toEqual([['orders', 'depth', false, 0]])
    await next.server.close()
  })

  it('K7: an alert that is older than the records of the ledger is not sent again', async () => {
    const watch = { dominance: 1, ageMs: 600 * MINUTE_MS }
    const world = watchingWorld({ watch })
    const { clock, store } = world
    await saveManyLetters(world, 150)
    await world.ask('/healthz')
    await world.minute(110)
    await world.server.close()
    expect(world.told()).toHaveLength(1)
    // As if the ledger had forgotten what was sent.
    const stores: Store = { ...store, ledger: memoryLedger({ clock }) }
    const next = watchingWorld({ stores, clock, watch })
    await next.ask('/healthz')
    await world.minute(3)
    expect(next.told()).toEqual([])
    await next.server.close()
  })

  it('K7: its end is told also when no letter of the channel is left at all', async () => {
    const world = watchingWorld({ watch: { dominance: 1 } })
    const letters = await saveManyLetters(world, 150)
    await world.ask('/healthz')
    await world.minute(1)
    for (const { id } of letters) await world.store.deadLetters.delete(id)
    await world.minute(6)
    expect(world.told().map(([, , firing]) => firing)).toEqual([true, false])
    const depths = (await world.store.snapshots.list()).map(({ depth }) => depth)
    expect(depths).toEqual([0, 0, 0, 150, 150])
    await world.server.close()
  })

  it('K7: a notifier that fails is told of once, and gets the notice with the next snapshot', async () => {
    const notices: Notice[] = []
    let isDown = true
    const notifier = {
      async notify(notice: Notice) {
        if (isDown) throw new Error('no mail today')
        notices.push(notice)
      },
    }
    const world = watchingWorld({ watch: { dominance: 1 }, notifier })
    await saveManyLetters(world, 150)
    await world.ask('/healthz')
    await world.minute(4)
    expect(world.errors.map(String)).toEqual(['Error: no mail today'])
    isDown = false
    await world.minute(3)
    expect(notices).toMatchObject([{ channel: 'orders', firing: true }])
    await world.server.close()
  })

  it('K7: a notifier that never answers is told of, and asked again', async () => {
    let asked = 0
    const notifier = {
      notify: () => {
        asked++
        return asked === 1 ? new Promise<never>(() => {}) : Promise.resolve()
      },
    }
    const world = watchingWorld({ watch: { dominance: 1 }, notifier })
    await saveManyLetters(world, 150)
    await world.ask('/healthz')
    await world.minute(5)
    expect(asked).toBe(2)
    expect(world.errors.map(String)).toEqual(['Error: watch: the notifier did not answer within 30 s'])
    await world.server.close()
  })

  it('K7: of several stores each is told by its name', async () => {
    const clock = new FakeClock()
    const [eu, us] = [memoryStore({ clock }), memoryStore({ clock })]
    const world = watchingWorld({ watch: { dominance: 1 }, stores: { eu, us }, clock })
    for (const store of [eu, us]) await saveManyLetters({ ...world, store }, 150)
    await world.ask('/healthz')
    await world.minute(1)
    expect(world.notices.map(({ store, channel }) => `${store} ${channel}`).sort()).toEqual([
      'eu orders',
      'us orders',
    ])
    await world.server.close()
  })
})
