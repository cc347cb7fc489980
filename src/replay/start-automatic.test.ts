import { describe, expect, it } from 'vitest'
import { createWorldAfterOutage } from '../../test/support/outage.ts'
import { OptionsError } from '../core/options/faults.ts'
import type { Replay } from '../ports/replays.ts'
import { createMetrics } from '../runtime/metrics/create-metrics.ts'
import { seededRandom } from '../testing/seeded-random.ts'
import { approveReplay } from './control.ts'
import { type AutomaticReplayOptions, startAutomaticReplay } from './start-automatic.ts'

const HOUR_MS = 3_600_000

async function world(letters: number, consumer: Parameters<typeof createWorldAfterOutage>[1] = {}) {
  const it = await createWorldAfterOutage(letters, { autoReplay: ['transient'], ...consumer })
  const runs: Replay[] = []
  const start = (more: Partial<AutomaticReplayOptions> = {}) =>
    startAutomaticReplay({
      store: it.store,
      cron: '0 * * * *',
      clock: it.clock,
      random: seededRandom(3),
      onRun: run => void runs.push(run),
      ...more,
    })
  const states = async () => (await it.store.deadLetters.stats()).byState
  return { ...it, runs, start, states }
}

describe('automatic replay inside the service', () => {
  it('R3: sends the letters that the policy allows, at most 50 in a run, and counts what came of them', async () => {
    const it = await world(60)
    const metrics = createMetrics({ clock: it.clock })
    const bad = new Set((await it.store.deadLetters.list({ limit: 3 })).letters.map(({ event }) => event.id))
    it.world.broken = id => bad.has(id)
    const schedule = it.start({ observer: metrics.observer })
    await it.clock.advance(HOUR_MS + 60_000)
    expect(it.runs).toMatchObject([{ count: 50, createdBy: 'automatic replay', isAutomatic: true }])
    const outcomes = (await metrics.read()).find(({ name }) => name === 'automatic_replay_outcomes_total')
    expect(outcomes?.samples).toMatchObject([
      { labels: { outcome: 'recovered' }, value: 47 },
      { labels: { outcome: 'failed_again' }, value: 3 },
    ])
    await schedule.close()
    expect(it.clock.pending).toBe(0)
  })

  it('R3: leaves letters whose policy does not allow it, and those that are too old', async () => {
    const other = await world(3, { autoReplay: ['business'] })
    other.world.broken = () => false
    const schedules = [other.start()]
    await other.clock.advance(3 * HOUR_MS)
    expect([other.runs, await other.states()]).toEqual([[], { dead: 3 }])
    const old = await world(3)
    old.world.broken = () => false
    schedules.push(old.start({ maxAgeMs: HOUR_MS / 2 }))
    await old.clock.advance(3 * HOUR_MS)
    expect([old.runs, await old.states()]).toEqual([[], { dead: 3 }])
    for (const schedule of schedules) await schedule.close()
  })

  it('R3: with needsApproval it plans, and sends nothing before a person has approved', async () => {
    const it = await world(3)
    it.world.broken = () => false
    const schedule = it.start({ needsApproval: true })
    await it.clock.advance(2 * HOUR_MS)
    expect(await it.states()).toEqual({ dead: 3 })
    const [plan] = await it.store.replays.list()
    await approveReplay(it.store, plan!.id, it.ann)
    await it.clock.advance(HOUR_MS)
    expect(await it.states()).toEqual({ resolved: 3 })
    await schedule.close()
  })

  it('R4: the consumer hands its schema to the gates, so that nobody repeats it', async () => {
    let isStrict = false
    const validate = (value: unknown) =>
      isStrict && (value as { n: number }).n === 0 ? { issues: [{ message: 'zero' }] } : { value }
    const it = await world(3, { schema: { '~standard': { version: 1, vendor: 'test', validate } } })
    it.world.broken = () => false
    isStrict = true
    const schedule = it.start({ consumers: [it.consumer] })
    await it.clock.advance(2 * HOUR_MS)
    expect(await it.states()).toEqual({ resolved: 2, dead: 1 })
    expect(it.runs).toMatchObject([{ count: 2 }])
    await schedule.close()
  })

  it('K8: waits while the breaker of the consumer is open', async () => {
    const it = await world(2, { breaker: { failures: 100 } })
    it.world.broken = () => false
    it.consumer.breaker!.force('open')
    const schedule = it.start({ consumers: [it.consumer] })
    await it.clock.advance(2 * HOUR_MS)
    expect([it.runs, await it.states()]).toEqual([[], { dead: 2 }])
    await schedule.close()
  })

  it('E19: of two processes one does each run', async () => {
    const it = await world(6)
    it.world.broken = () => false
    const both = [it.start({ batchSize: 2 }), it.start({ batchSize: 2, random: seededRandom(4) })]
    await it.clock.advance(HOUR_MS + 60_000)
    expect(await it.states()).toEqual({ resolved: 2, dead: 4 })
    for (const schedule of both) await schedule.close()
  })

  it('F7: refuses options with faults, and a store whose letters nobody takes', async () => {
    const { store, clock } = await world(1)
    expect(() => startAutomaticReplay({ store: {}, cron: 'hourly', batchSize: 0 } as never)).toThrow(
      /store.*cron.*batchSize/s,
    )
    const without = { store: { ...store, broker: undefined }, cron: '0 * * * *', clock }
    expect(() => startAutomaticReplay(without)).toThrow(OptionsError)
  })
})
