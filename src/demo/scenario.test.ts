import { afterEach, describe, expect, it } from 'vitest'
import { type DemoWorld, demoWorld } from '../../test/support/demo-world.ts'
import { ledgerName } from '../ports/ledger.ts'
import { MILESTONES } from './milestones.ts'

const MINUTE_MS = 60_000

let world: DemoWorld
afterEach(() => world.close())

describe('the first minute of the demo', () => {
  it.each([1, 2, 3, 4, 5, 6, 7, 8])(
    'everything worth seeing has happened by itself, with seed %i',
    async seed => {
      world = await demoWorld(seed)
      await world.clock.advance(MINUTE_MS)
      const { milestones } = world.scenario
      expect(MILESTONES.filter(milestone => !milestones.has(milestone))).toEqual([])
      expect(world.errors).toEqual([])
    },
  )

  it('B11: a step waits for its milestone: a replay waits for letters that are saved late', async () => {
    world = await demoWorld(3, { paymentLettersAt: 45_000 })
    const { clock, scenario } = world
    await clock.advance(44_000)
    expect(scenario.shop.payments.release).toBe('2.4.0')
    expect(scenario.milestones.has('fix')).toBe(false)
    await clock.advance(2 * MINUTE_MS)
    expect(MILESTONES.filter(milestone => !scenario.milestones.has(milestone))).toEqual([])
    expect(world.errors).toEqual([])
  })

  it('B4: every cause is one group, found by its place in the code', async () => {
    world = await demoWorld()
    await world.clock.advance(MINUTE_MS)
    const { groups } = await world.store.groups.list()
    const told = groups.map(({ title, basis, rule }) => [
      title.replace(/OLD-\S+/, 'OLD'),
      rule,
      basis.split(' at ')[1],
    ])
    expect(told).toEqual(
      expect.arrayContaining([
        [
          "TypeError: Cannot read properties of undefined (reading 'country')",
          'frame',
          'feeByCardCountry (src/fees.ts)',
        ],
        ['RangeError: Invalid time value', 'frame', 'requireSlot (src/orders.ts)'],
        [
          'HttpError: 404 no article OLD in any aisle',
          'frame',
          'WarehouseService.ship (src/services/warehouse-service.ts)',
        ],
        [
          'HttpError: 422 recipient address cannot be delivered to',
          'frame',
          'MailService.send (src/services/mail-service.ts)',
        ],
      ]),
    )
  })

  it('K5: the poison order is quarantined after three attempts', async () => {
    world = await demoWorld()
    await world.clock.advance(MINUTE_MS)
    const quarantined = (await world.letters()).filter(({ state }) => state === 'quarantined')
    expect(quarantined.length).toBeGreaterThan(0)
    for (const { cycle } of quarantined) expect([cycle.reason, cycle.attemptCount]).toEqual(['poison', 3])
  })

  it('B6: while the warehouse fails, parcels wait, and none becomes a dead letter', async () => {
    world = await demoWorld()
    const { clock, scenario, store } = world
    await clock.advance(20_000)
    const warehouse = scenario.shop.consumers[3]!
    expect(warehouse.health()).toMatchObject({ breakerState: 'open', paused: ['breaker'] })
    await clock.advance(10_000)
    expect(warehouse.health()).toMatchObject({ breakerState: 'closed', paused: [] })
    expect((await store.deadLetters.list({ search: 'not available' })).letters).toEqual([])
  })

  it('B11: the replay before the fix sends one letter and halts', async () => {
    world = await demoWorld()
    const { clock, store } = world
    await clock.advance(35_000)
    const [replay] = await store.replays.list()
    expect(replay).toMatchObject({ state: 'halted', by: 'demo', reason: 'payments look fine again' })
    expect(replay!.count).toBeGreaterThan(10)
    expect(await store.replays.counts(replay!.id)).toMatchObject({
      failed_same_cause: 1,
      waiting: replay!.count - 1,
      recovered: 0,
    })
  })

  it('B12: the replay after the fix recovers every payment of the group', async () => {
    world = await demoWorld()
    const { clock, store, scenario } = world
    await clock.advance(MINUTE_MS)
    const [replay] = await store.replays.list()
    expect(replay!.state).toBe('finished')
    expect(await store.replays.counts(replay!.id)).toMatchObject({ recovered: replay!.count, skipped: 0 })
    const group = await store.groups.get(scenario.milestones.brokenGroup!)
    expect(group).toMatchObject({ count: replay!.count, waiting: 0, recovered: replay!.count })
  })

  it('E21: no event is lost: each was handled or has a waiting letter, never both', async () => {
    world = await demoWorld(5)
    const { clock, store, scenario, published } = world
    await clock.advance(MINUTE_MS)
    scenario.stopTraffic()
    await clock.advance(MINUTE_MS)
    const handlers = new Map(
      scenario.shop.consumers.map(consumer => [consumer.health().channel, consumer.health().handler]),
    )
    const waiting = new Set(
      (await world.letters()).filter(({ state }) => state !== 'resolved').map(({ event }) => event.id),
    )
    expect(published.length).toBeGreaterThan(400)
    for (const { id, channel, idempotencyKey } of published) {
      const name = ledgerName(channel, handlers.get(channel))
      const { kind } = await store.ledger.claim(name, idempotencyKey, 1)
      expect([kind, waiting.has(id)], `${channel} ${id}`).toEqual(
        kind === 'done' ? ['done', false] : ['claimed', true],
      )
    }
  })
})
