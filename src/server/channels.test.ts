import { hostname } from 'node:os'
import process from 'node:process'
import { describe, expect, it } from 'vitest'
import { changed } from '../../test/support/conformance.ts'
import { PEOPLE, secretOf, serverWorld } from '../../test/support/server-world.ts'
import { memoryBroker, memoryDeadLetters } from '../adapters/memory/index.ts'
import type { Fleet, InstanceReport } from '../ports/fleet.ts'
import { createConsumer } from '../runtime/consumer/consumer.ts'
import { joinFleet } from '../runtime/fleet/join-fleet.ts'

const CHANNELS = '/api/v1/channels'
/** After this time every process has executed its commands and reported again, and the server has read the new reports. */
const NEXT_REPORT_MS = 8_000
const GONE_MS = 20_000

/** A server, and processes that it does not run in. */
function world(options: Parameters<typeof serverWorld>[0] = {}) {
  const server = serverWorld(options)
  const { clock, store, make } = server
  const consumerOf = async (channel = 'orders', more: { breaker?: 'off'; fails?: boolean } = {}) => {
    const broker = memoryBroker({ clock })
    const consumer = createConsumer({
      ...{ broker, channel, name: 'bill', clock, deadLetters: memoryDeadLetters(), retry: { attempts: 1 } },
      ...(more.breaker && { breaker: more.breaker }),
      handle: () => {
        if (more.fails) throw new TypeError('no total')
      },
    })
    await consumer.start()
    const publish = (count: number) =>
      broker.publish(Array.from({ length: count }, () => make.event({ channel })))
    return { consumer, publish }
  }
  return {
    ...server,
    consumerOf,
    async start(pid: number, ...given: Parameters<typeof consumerOf>) {
      const made = await consumerOf(...given)
      const life = { isOver: false }
      const fleet = changed(store.fleet as Fleet, real => ({
        report: async (report: InstanceReport, leaseMs: number) => {
          if (!life.isOver) await real.report({ ...report, host: 'web', pid }, leaseMs)
        },
      }))
      const member = joinFleet({
        ...{ store: { fleet, commands: store.commands }, service: 'shop', version: `1.${pid}`, clock },
        consumers: [made.consumer],
      })
      await clock.advance(10)
      const crash = () => {
        life.isOver = true
      }
      return { ...made, member, crash, isPaused: () => made.consumer.health().paused.includes('manual') }
    },
    /** The only channel, as it is after the next reports. */
    async channel() {
      await clock.advance(NEXT_REPORT_MS)
      const { body } = await server.ask(CHANNELS)
      return body.channels[0]
    },
  }
}

describe('the channels of a server without consumers', () => {
  it('B17: have the sum over all living processes', async () => {
    const { start, channel, clock } = world()
    const [first, second] = [await start(1), await start(2, 'orders', { fails: true })]
    const lost = await start(3)
    await first.publish(3)
    await second.publish(1)
    lost.crash()
    first.consumer.pause()
    second.consumer.breaker!.force('open', 'ann')
    await clock.advance(GONE_MS)
    expect(await channel()).toMatchObject({
      channel: 'orders',
      letters: { waiting: 0 },
      consumers: [
        {
          ...{ handler: 'bill', processes: 2, isLocal: false, breaker: 'forced-open', pausedProcesses: 1 },
          breakers: [
            { state: 'forced-open', processes: 1 },
            { state: 'closed', processes: 1 },
          ],
          ...{ perMinute: 4, failureRate: 0.25, active: 0, waiting: 0, depth: 0 },
          paused: ['manual'],
          lastProcessedAt: expect.any(String),
        },
      ],
    })
  })

  it('B17: have each living process, page by page', async () => {
    const { start, ask, clock } = world()
    const all = [await start(1), await start(2), await start(3)]
    await start(4, 'mails')
    all[1]!.consumer.pause()
    await clock.advance(NEXT_REPORT_MS)
    const first = await ask(`${CHANNELS}/orders/instances?handler=bill&limit=2`)
    expect(first.body.instances).toMatchObject([
      {
        id: all[0]!.member.id,
        service: 'shop',
        version: '1.1',
        host: 'web',
        pid: 1,
        isLocal: false,
        paused: [],
      },
      { id: all[1]!.member.id, store: 'main', broker: 'memory', breaker: 'closed', paused: ['manual'] },
    ])
    const rest = await ask(
      `${CHANNELS}/orders/instances?handler=bill&limit=2&cursor=${encodeURIComponent(first.body.cursor)}`,
    )
    expect(rest.body.instances).toMatchObject([{ id: all[2]!.member.id, pid: 3 }])
    expect(rest.body.cursor).toBeUndefined()
    expect((await ask(`${CHANNELS}/orders/instances?handler=ship`)).body.instances).toEqual([])
    expect((await ask(`${CHANNELS}/orders/instances?cursor=x`)).status).toBe(400)
  })

  it('B17: are paused and resumed by commands, which are audited with the name', async () => {
    const { start, tell, audited, clock } = world({ tokens: PEOPLE })
    const all = [await start(1), await start(2)]
    const ola = { token: secretOf('ola') }
    const { status, body } = await tell(
      `${CHANNELS}/orders/pause`,
      { handler: 'bill', reason: 'a release' },
      ola,
    )
    expect([status, body.requests]).toMatchObject([
      200,
      [{ by: 'ola', reason: 'a release', task: { kind: 'pause', channel: 'orders', handler: 'bill' } }],
    ])
    expect(body.requests[0].commands).toHaveLength(2)
    await clock.advance(NEXT_REPORT_MS)
    expect(all.map(each => each.isPaused())).toEqual([true, true])
    await tell(`${CHANNELS}/orders/resume`, { reason: 'over' }, ola)
    await clock.advance(NEXT_REPORT_MS)
    expect(all.map(each => each.isPaused())).toEqual([false, false])
    await tell(`${CHANNELS}/orders/breaker`, { handler: 'bill', to: 'open', reason: 'x' }, ola)
    await clock.advance(NEXT_REPORT_MS)
    expect(all.map(({ consumer }) => consumer.health().breakerState)).toEqual(['forced-open', 'forced-open'])
    expect(await audited()).toEqual([
      'ola fleet.breaker orders',
      'ola fleet.resume orders',
      'ola fleet.pause orders',
    ])
  })

  it.each(['pause', 'resume', 'breaker'])('B17: a viewer sees them and cannot %s them', async verb => {
    const { start, ask, tell, audited, clock } = world({ tokens: PEOPLE })
    const shop = await start(1)
    const vic = { token: secretOf('vic') }
    const body = verb === 'breaker' ? { handler: 'bill', to: 'open', reason: 'x' } : { reason: 'x' }
    expect((await tell(`${CHANNELS}/orders/${verb}`, body, vic)).status).toBe(403)
    await clock.advance(NEXT_REPORT_MS)
    expect([shop.isPaused(), shop.consumer.health().breakerState]).toEqual([false, 'closed'])
    expect(await audited()).toEqual([])
    expect((await ask(CHANNELS, vic)).body.channels).toMatchObject([{ consumers: [{ processes: 1 }] }])
    expect((await ask(`${CHANNELS}/orders/instances`, vic)).body.instances).toHaveLength(1)
  })

  it('B17: a change that no living process can make is refused, and nothing is audited', async () => {
    const { start, tell, audited } = world()
    await start(1)
    const answers = [
      await tell(`${CHANNELS}/mails/pause`, { reason: 'x' }),
      await tell(`${CHANNELS}/orders/pause`, { handler: 'ship', reason: 'x' }),
      await tell(`${CHANNELS}/orders/pause`, { processes: 'own', reason: 'x' }),
    ]
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404])
    expect(answers[1]!.body.detail).toContain('No living process consumes orders/ship')
    expect(answers[2]!.body.detail).toContain('This process')
    expect(await audited()).toEqual([])
  })
})

describe('the channels of a server with consumers in its own process', () => {
  /** The server is in the fleet with its consumer, beside one other process. */
  async function both() {
    const outer = world()
    const { store, clock } = outer
    const { consumer, publish } = await outer.consumerOf()
    const own = serverWorld({ stores: store, clock, consumers: [consumer], service: 'shop', version: '2.0' })
    await own.ask('/healthz')
    await clock.advance(10)
    return { ...outer, ask: own.ask, tell: own.tell, consumer, publish }
  }

  it('B17: count the consumers of the own process once, though it is in the fleet too', async () => {
    const { ask, clock, publish, store } = await both()
    await publish(3)
    await clock.advance(NEXT_REPORT_MS)
    expect((await store.fleet!.list()).map(({ report }) => report.consumers.length)).toEqual([1])
    const { body } = await ask(CHANNELS)
    expect(body.channels).toMatchObject([
      {
        consumers: [
          { handler: 'bill', processes: 1, isLocal: true, perMinute: 3, breakerStats: { calls: 3 } },
        ],
      },
    ])
    const { body: listed } = await ask(`${CHANNELS}/orders/instances`)
    expect(listed.instances).toMatchObject([
      { isLocal: true, service: 'shop', version: '2.0', host: hostname(), pid: process.pid, silentMs: 0 },
    ])
    expect((await ask('/api/v1/overview')).body).toMatchObject({
      breakers: { open: 0, total: 1 },
      consumers: { paused: 0, total: 1 },
      fleet: { alive: 1, gone: 0 },
    })
  })

  it('B17: add the other processes, and change all of them or only the own one', async () => {
    const { ask, tell, start, clock, consumer, audited } = await both()
    const other = await start(2)
    const paused = () => [consumer.health().paused.includes('manual'), other.isPaused()]
    await clock.advance(NEXT_REPORT_MS)
    expect((await ask(CHANNELS)).body.channels[0].consumers).toMatchObject([{ processes: 2, isLocal: true }])
    const { body } = await ask(`${CHANNELS}/orders/instances`)
    expect(body.instances).toMatchObject([{ isLocal: true }, { isLocal: false, pid: 2 }])

    const own = await tell(`${CHANNELS}/orders/pause`, { processes: 'own', reason: 'a look' })
    expect([own.body.requests, paused()]).toEqual([[], [true, false]])
    await clock.advance(NEXT_REPORT_MS)
    expect(paused()).toEqual([true, false])
    const all = await tell(`${CHANNELS}/orders/pause`, { reason: 'a release' })
    // The own process changes at once, and gets no command.
    expect(all.body.requests[0].commands.map((each: { instance: string }) => each.instance)).toEqual([
      other.member.id,
    ])
    await clock.advance(NEXT_REPORT_MS)
    expect(paused()).toEqual([true, true])
    expect((await audited()).toSorted()).toEqual([
      'local consumer.pause orders',
      'local consumer.pause orders',
      'local fleet.pause orders',
    ])
  })

  it('B17: without a fleet are as before', async () => {
    const { consumerOf } = world()
    const { consumer } = await consumerOf('orders', { breaker: 'off' })
    const { ask, tell } = serverWorld({ consumers: [consumer] })
    expect((await ask(CHANNELS)).body.channels).toMatchObject([
      { consumers: [{ handler: 'bill', breaker: 'off', processes: 1, isLocal: true }] },
    ])
    const paused = await tell(`${CHANNELS}/orders/pause`, { reason: 'x' })
    expect(paused.body).toMatchObject({ requests: [], channels: [{ consumers: [{ paused: ['manual'] }] }] })
    const forced = await tell(`${CHANNELS}/orders/breaker`, { handler: 'bill', to: 'open', reason: 'x' })
    expect([forced.status, forced.body.detail]).toEqual([
      409,
      expect.stringContaining('Pause channel orders'),
    ])
  })
})

describe('the overview of a server without consumers', () => {
  it('B17: counts the breakers and consumers of the fleet, and the processes that are gone', async () => {
    const { start, ask, clock } = world()
    const [first, lost, left] = [await start(1), await start(2), await start(3)]
    first.consumer.breaker!.force('open', 'ann')
    first.consumer.pause()
    lost.crash()
    await left.member.close()
    await clock.advance(GONE_MS)
    expect((await ask('/api/v1/overview')).body).toMatchObject({
      breakers: { open: 1, total: 1 },
      consumers: { paused: 1, total: 1 },
      fleet: { alive: 1, gone: 1 },
    })
  })
})
