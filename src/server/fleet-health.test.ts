import { describe, expect, it } from 'vitest'
import { changed } from '../../test/support/conformance.ts'
import { serverWorld } from '../../test/support/server-world.ts'
import { memoryBroker, memoryDeadLetters } from '../adapters/memory/index.ts'
import type { Broker, SubscriptionStatus } from '../ports/broker.ts'
import type { Fleet, InstanceReport } from '../ports/fleet.ts'
import { createConsumer } from '../runtime/consumer/consumer.ts'
import { type FleetMembership, joinFleet } from '../runtime/fleet/join-fleet.ts'

const GONE_MS = 16_000

/** A server without consumers, and processes of services that it does not run in. */
function world(options: Parameters<typeof serverWorld>[0] = {}) {
  const server = serverWorld(options)
  const { clock, store } = server
  let pid = 1
  return {
    ...server,
    async start(service: string) {
      const broker: Broker = memoryBroker({ clock })
      const subscribe = broker.subscribe.bind(broker)
      let tell = (_: SubscriptionStatus) => {}
      broker.subscribe = (wanted, deliver, onStatus = () => {}) => {
        tell = onStatus
        return subscribe(wanted, deliver, onStatus)
      }
      const consumer = createConsumer({
        ...{ broker, channel: 'orders', name: 'bill', clock },
        deadLetters: memoryDeadLetters(),
        handle: () => {},
      })
      await consumer.start()
      const life = { isOver: false }
      const own = pid++
      // All processes of the test are one: each says that it runs elsewhere, and one that crashed says nothing.
      const fleet = changed(store.fleet as Fleet, real => ({
        report: async (report: InstanceReport, leaseMs: number) => {
          if (!life.isOver) await real.report({ ...report, host: 'web', pid: own }, leaseMs)
        },
      }))
      const member: FleetMembership = joinFleet({
        ...{ store: { fleet, commands: store.commands }, service, consumers: [consumer], clock },
      })
      await clock.advance(10)
      const crash = () => {
        life.isOver = true
      }
      return { consumer, member, crash, tell: (status: SubscriptionStatus) => tell(status) }
    },
    health: async () => {
      await clock.advance(3_000)
      return server.ask('/healthz/consumer')
    },
  }
}

describe('the health of a server without consumers', () => {
  it('F6, B17: is that of the living processes: one with an open breaker is DOWN', async () => {
    const { start, health, clock } = world()
    expect((await health()).body).toMatchObject({ status: 'UP', channels: [], fleet: { alive: 0, gone: [] } })
    const [first] = [await start('shop'), await start('shop')]
    expect(await health()).toMatchObject({
      status: 200,
      body: {
        status: 'UP',
        breakerState: 'CLOSED',
        channels: [{ channel: 'orders', handler: 'bill', processes: 2, breakerState: 'closed', paused: [] }],
        fleet: { alive: 2, gone: [] },
      },
    })
    first.consumer.breaker!.force('open', 'ann')
    await clock.advance(5_000)
    expect(await health()).toMatchObject({
      status: 503,
      body: { status: 'DOWN', breakerState: 'OPEN', channels: [{ breakerState: 'forced-open' }] },
    })
    // A breaker of a process that is gone says nothing about now.
    first.crash()
    await clock.advance(GONE_MS)
    expect((await health()).body).toMatchObject({ status: 'UP', fleet: { alive: 1, gone: [] } })
  })

  it('F6, B17: is DEGRADED while the broker of a process holds it up, and says what', async () => {
    const { start, health, clock, ask } = world()
    const { tell } = await start('shop')
    tell({ state: 'stalled', place: 'deliveries', error: new Error('kafka.internal: ECONNREFUSED') })
    await clock.advance(5_000)
    const stalled = await health()
    expect(stalled).toMatchObject({
      status: 503,
      body: { status: 'DEGRADED', channels: [{ handler: 'bill', stalled: ['deliveries'] }] },
    })
    expect(JSON.stringify(stalled.body)).not.toContain('kafka.internal')
    const { body } = await ask('/api/v1/fleet')
    expect(body.instances[0].consumers).toMatchObject([{ stalled: ['deliveries'] }])
    tell({ state: 'recovered', place: 'deliveries' })
    await clock.advance(5_000)
    expect((await health()).body).toMatchObject({ status: 'UP' })
  })

  it('F6, B17: a service whose last process vanished is DOWN, and one that was stopped in order is not', async () => {
    const { start, health, clock } = world()
    const [crashed, last] = [await start('shop'), await start('shop')]
    crashed.crash()
    await clock.advance(GONE_MS)
    expect((await health()).body.status).toBe('UP')
    await last.member.close()
    expect((await health()).body).toMatchObject({ status: 'UP', fleet: { alive: 0, gone: [] } })
    const alone = await start('mailer')
    alone.crash()
    await clock.advance(GONE_MS)
    expect(await health()).toMatchObject({
      status: 503,
      body: { status: 'DOWN', fleet: { alive: 0, gone: ['mailer'] } },
    })
    await start('mailer')
    expect((await health()).body).toMatchObject({ status: 'UP', fleet: { alive: 1, gone: [] } })
  })

  it('F6, B17: is DEGRADED while the processes cannot be read', async () => {
    const { start, health, store } = world()
    await start('shop')
    const { list } = store.fleet!
    store.fleet!.list = () => Promise.reject(new Error('permission denied'))
    expect(await health()).toMatchObject({
      status: 503,
      body: { status: 'DEGRADED', storesDown: ['main'], fleet: { alive: 0, gone: [] } },
    })
    store.fleet!.list = list
    expect((await health()).body).toMatchObject({ status: 'UP', fleet: { alive: 1, gone: [] } })
  })

  it('F6: a server with consumers speaks for those alone', async () => {
    const own = createConsumer({
      ...{ broker: memoryBroker(), channel: 'mails', deadLetters: memoryDeadLetters(), handle: () => {} },
    })
    const { start, health, clock } = world({ consumers: [own] })
    const { crash } = await start('shop')
    crash()
    await clock.advance(GONE_MS)
    const { body } = await health()
    expect([body.status, body.channels.length, body.fleet]).toEqual(['UP', 1, undefined])
    expect(body.channels[0]).toMatchObject({ channel: 'mails', retrying: 0 })
    await own.close()
  })
})
