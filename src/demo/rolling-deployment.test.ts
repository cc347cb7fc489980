import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type DemoWorld, demoWorld } from '../../test/support/demo-world.ts'
import { ledgerName } from '../ports/ledger.ts'

let world: DemoWorld
beforeEach(async () => {
  world = await demoWorld()
})
afterEach(() => world.close())

describe('a rolling deployment under load', () => {
  it('E21: loses no delivery of the old release, and charges no customer twice', async () => {
    const { clock, store, scenario, published } = world
    scenario.stopTraffic()
    const charge = vi.spyOn(scenario.shop.services.processor, 'charge')
    await Promise.all(Array.from({ length: 40 }, () => scenario.producer.place('none')))
    for (const release of ['2.4.1', '2.3.9', '2.4.1'] as const) {
      await clock.advance(60)
      const shipped = scenario.ship(release)
      await clock.advance(60)
      await shipped
    }
    await clock.advance(2_500)
    const payments = published.filter(({ channel }) => channel === 'payments')
    expect(payments.length).toBeGreaterThanOrEqual(40)
    expect(charge).toHaveBeenCalledTimes(payments.length)
    const name = ledgerName('payments', 'take-payment')
    for (const { idempotencyKey } of payments) {
      const { kind } = await store.ledger.claim(name, idempotencyKey, 1)
      expect(kind).toBe('done')
    }
  })

  it('stays paused after a user has paused it', async () => {
    const { payments } = world.scenario.shop
    payments.pause()
    await world.scenario.ship('2.4.1')
    expect(payments.health().paused).toEqual(['manual'])
    payments.resume()
    expect(payments.health().paused).toEqual([])
  })

  it('keeps its breaker, including a forced state', async () => {
    const { payments } = world.scenario.shop
    payments.breaker?.force('open', 'ann')
    await world.scenario.ship('2.4.1')
    expect(payments.health().breakerState).toBe('forced-open')
  })
})
