import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type DemoWorld, demoWorld } from '../../test/support/demo-world.ts'
import { serverWorld } from '../../test/support/server-world.ts'
import { demoControl } from './control.ts'
import { SCHEMAS } from './shop/contracts.ts'

const MINUTE_MS = 60_000

let world: DemoWorld
async function sinkLetters() {
  return (await world.letters()).filter(({ channel }) => channel === 'tracking')
}

describe('the tracked events after the first minute', () => {
  beforeAll(async () => {
    world = await demoWorld()
    await world.clock.advance(MINUTE_MS)
  })
  afterAll(() => world.close())

  it('E12: payments and carts become letters, page views do not', async () => {
    const types = new Set((await sinkLetters()).map(({ event }) => event.type))
    expect(types).toEqual(new Set(['order.placed', 'payment.taken', 'cart.filled', 'report.made']))
  })

  it('E7: a job succeeds although no sink accepts its report, and its letters say so', async () => {
    const letters = (await sinkLetters()).filter(({ event }) => event.type === 'report.made')
    expect(letters.map(({ handler, job, cycle }) => [handler, job, cycle.reason]).toSorted()).toEqual([
      ['analytics', 'StockReport', 'tracking_failed_in_job'],
      ['wallboard', 'StockReport', 'tracking_failed_in_job'],
    ])
    expect(world.errors).toEqual([])
  })

  it('B12, E17: a replay goes to the sink that missed the events, and recovers those that the sink accepts', async () => {
    const { clock, scenario, store } = world
    scenario.stopTraffic()
    await clock.advance(1_000)
    const { dispatcher, replayTarget } = scenario.shop.tracking
    const { server, tell, ask } = serverWorld({
      stores: store,
      consumers: scenario.shop.consumers,
      replayTarget,
      schemas: SCHEMAS,
      clock,
    })
    const before = dispatcher.health().sinks
    const [one] = await sinkLetters()
    const { destination } = (await ask(`/api/v1/dead-letters/${one!.id}`)).body
    expect(destination).toEqual({ broker: 'this process', channel: 'tracking', handler: one!.handler })
    const letters = await sinkLetters()
    const plan = { filter: { channel: 'tracking' }, reason: 'analytics is back', haltRefailRatio: 1 }
    const { id } = (await tell('/api/v1/replays', { ...plan, haltOnSameFingerprint: false })).body
    await tell(`/api/v1/replays/${id}/start`, {})
    await clock.advance(20_000)
    const { state, counts } = (await ask(`/api/v1/replays/${id}`)).body
    // The wallboard has no place for a report, today or tomorrow.
    expect([state, counts.recovered, counts.failed_same_cause]).toEqual(['finished', letters.length - 1, 1])
    const { analytics, wallboard } = dispatcher.health().sinks
    const of = (sink: string) => letters.filter(({ handler }) => handler === sink || handler === '*').length
    expect(analytics.delivered - before.analytics.delivered).toBe(of('analytics'))
    expect(wallboard.delivered - before.wallboard.delivered).toBe(of('wallboard') - 1)
    await server.close()
  })
})

describe('the tracking of the shop', () => {
  beforeEach(async () => {
    world = await demoWorld()
  })
  afterEach(() => world.close())

  it('E17: a failing sink creates its own letters and does not affect the other sink', async () => {
    const { clock, scenario } = world
    await clock.advance(15_000)
    const before = scenario.shop.tracking.dispatcher.health().sinks.wallboard.delivered
    await clock.advance(6_000)
    const { sinks, status } = scenario.shop.tracking.dispatcher.health()
    expect([status, sinks.analytics.breakerState]).toEqual(['DEGRADED', 'open'])
    expect(sinks.wallboard.delivered - before).toBeGreaterThan(20)
    const letters = (await sinkLetters()).filter(({ event }) => event.type !== 'report.made')
    expect(letters.length).toBeGreaterThan(10)
    expect(new Set(letters.map(({ handler }) => handler))).toEqual(new Set(['analytics']))
  })

  it('E18: health checks close the breaker of a recovered sink', async () => {
    await world.clock.advance(21_000)
    const { dispatcher } = world.scenario.shop.tracking
    expect(dispatcher.health().sinks.analytics.breakerState).toBe('open')
    await world.clock.advance(6_000)
    expect(dispatcher.health()).toMatchObject({ status: 'UP', sinks: { analytics: { retrying: 0 } } })
  })

  it('E14: carts over the rate limit become letters for every sink', async () => {
    await world.clock.advance(27_000)
    world.scenario.stopTraffic()
    await world.clock.advance(MINUTE_MS)
    const limited = (await sinkLetters()).filter(({ handler }) => handler === '*')
    expect(limited.map(({ event, cycle }) => [event.type, cycle.reason])).toEqual(
      Array.from({ length: 10 }, () => ['cart.filled', 'rate_limited']),
    )
  })

  it('K10: a letter that the store refuses once is saved later', async () => {
    const { clock, scenario } = world
    await clock.advance(19_000)
    const { dispatcher } = scenario.shop.tracking
    await clock.advance(480)
    expect(dispatcher.health().unsavedLetters).toBe(1)
    await clock.advance(1_000)
    expect(dispatcher.health().unsavedLetters).toBe(0)
    expect(dispatcher.health().sinks.analytics.buffered).toBe(0)
  })

  it('the schedule stops changing analytics after a user has made it fail', async () => {
    const { clock, scenario } = world
    const control = demoControl(scenario, 1)
    await control.act('break-analytics', 'ann')
    await clock.advance(30_000)
    const { dispatcher } = scenario.shop.tracking
    expect(dispatcher.health().sinks.analytics.breakerState).toBe('open')
    expect(control.state()).toMatchObject({ facts: { analytics: 'failing' } })
    await control.act('fix-analytics', 'ann')
    await clock.advance(10_000)
    expect(dispatcher.health().sinks.analytics.breakerState).toBe('closed')
    expect(control.state().steps.find(({ id }) => id === 'sink-recovers')).toMatchObject({ done: true })
  })

  it('E14: a user can send a burst', async () => {
    const control = demoControl(world.scenario, 1)
    world.scenario.stopTraffic()
    await control.act('burst', 'ann')
    await world.clock.advance(1_000)
    expect((await sinkLetters()).filter(({ handler }) => handler === '*')).toHaveLength(10)
    expect(control.state().steps.find(({ id }) => id === 'burst')).toMatchObject({ done: true })
  })
})
