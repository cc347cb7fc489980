import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type DemoWorld, demoWorld } from '../../test/support/demo-world.ts'
import type { DemoControl } from '../server/demo-control.ts'
import { demoState } from '../server/schema/demo.ts'
import { demoControl } from './control.ts'

let world: DemoWorld
let control: DemoControl
beforeEach(async () => {
  world = await demoWorld()
  control = demoControl(world.scenario, 1)
})
afterEach(() => world.close())

function step(id: string) {
  return control.state().steps.find(each => each.id === id)!
}

describe('the demo control', () => {
  it('shows all steps, and which of them have happened', async () => {
    expect(demoState.parse(control.state()).steps.map(({ done }) => done)).not.toContain(true)
    await world.clock.advance(60_000)
    expect(control.state().steps.filter(({ done }) => !done)).toEqual([])
  })

  it('refuses an unknown action and lists the known ones', async () => {
    await expect(control.act('constructor', 'ann')).rejects.toThrow(
      "unknown action 'constructor'; use one of fix, break, break-warehouse, fix-warehouse, break-analytics, fix-analytics, burst, send-poison, send-wrong-shape, send-bad-address, replay-payments",
    )
  })

  it('links to the group of the broken release after its first letter', async () => {
    expect(step('broken-release').href).toBe('/groups')
    await world.clock.advance(15_000)
    expect(step('broken-release').href).toBe(`/groups/${world.scenario.milestones.brokenGroup}`)
  })

  it('B12: recovers every payment after the fix and a replay', async () => {
    await world.clock.advance(15_000)
    expect(step('fix').action?.enabled).toBe(true)
    await control.act('fix', 'ann')
    expect(step('fix')).toMatchObject({ done: true, action: { enabled: false } })
    await control.act('replay-payments', 'ann')
    await world.clock.advance(10_000)
    const { entries } = await world.store.audit.list({ action: 'demo.fix' })
    expect(entries).toMatchObject([{ by: 'ann', target: 'shop' }])
    expect(step('replay-recovers').done).toBe(true)
    const [replay] = await world.store.replays.list()
    expect(replay).toMatchObject({ state: 'finished', createdBy: 'ann' })
  })

  it('stops deploying releases after a user has deployed one', async () => {
    await world.clock.advance(15_000)
    await control.act('fix', 'ann')
    await control.act('break', 'ann')
    await world.clock.advance(45_000)
    expect(control.state().facts).toMatchObject({ release: '2.4.0' })
    expect(step('replay-recovers').done).toBe(false)
  })

  it('stops changing the warehouse after a user has made it fail', async () => {
    await control.act('break-warehouse', 'ann')
    await world.clock.advance(30_000)
    expect(step('breaker-opens').done).toBe(true)
    expect(step('breaker-closes')).toMatchObject({ done: false, action: { enabled: true } })
    await control.act('fix-warehouse', 'ann')
    await world.clock.advance(10_000)
    expect(step('breaker-closes').done).toBe(true)
  })

  it.each([
    ['send-poison', 'impossible-date', 'quarantined'],
    ['send-wrong-shape', 'wrong-shape', 'dead'],
    ['send-bad-address', 'bad-address', 'dead'],
  ])('%s sends an order that becomes a letter', async (action, _, state) => {
    await control.act(action, 'ann')
    await world.clock.advance(2_500)
    expect((await world.letters()).map(letter => letter.state)).toContain(state)
  })
})
