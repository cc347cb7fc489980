import { expect, it } from 'vitest'
import { afterAnOutage } from '../../test/support/outage.ts'
import { cancelReplay, resumeReplay } from './control.ts'
import { gatherLateOutcomes } from './outcomes.ts'

/** A replay that was halted while most of what it sent was on its way. */
async function haltedInFlight() {
  const it = await afterAnOutage(40)
  it.world.handlerMs = 300
  const replay = await it.plan({ stages: ['rest'] })
  await it.start(replay)
  expect(await it.run(replay)).toMatchObject({ state: 'halted' })
  expect((await it.store.replays.counts(replay.id)).sent).toBeGreaterThan(20)
  return { ...it, replay }
}

it('B11: what was on its way at a halt is not held against the replay after it, whether it ends before or later', async () => {
  for (const waitMs of [600_000, 0]) {
    const it = await haltedInFlight()
    await it.clock.advance(waitMs)
    await resumeReplay(it.store, it.replay.id, it.ann)
    expect(await it.run(it.replay)).toMatchObject({ state: 'finished' })
    expect(await it.store.replays.counts(it.replay.id)).toMatchObject({ failed_same_cause: 40, sent: 0 })
  }
})

it('B11: what is sent after that is, also by a runner that begins anew', async () => {
  const it = await afterAnOutage(200)
  const replay = await it.plan({ stages: [30, 'rest'], perSecond: 50 })
  it.world.handlerMs = 300
  await it.start(replay)
  expect(await it.run(replay)).toMatchObject({ state: 'halted', stage: 0 })
  await resumeReplay(it.store, replay.id, it.ann)
  await it.runFor(1_000, 'first', replay)
  expect(await it.run(replay)).toMatchObject({ state: 'halted', stage: 1 })
  expect((await it.store.replays.counts(replay.id)).waiting).toBeGreaterThan(100)
})

it('B12: the outcomes of a replay that was stopped are gathered when someone looks', async () => {
  const it = await haltedInFlight()
  await cancelReplay(it.store, it.replay.id, it.ann)
  await it.clock.advance(600_000)
  const { replays } = it.store
  await gatherLateOutcomes(it.store, (await replays.get(it.replay.id))!, it.clock)
  expect(await replays.counts(it.replay.id)).toMatchObject({ sent: 0, failed_same_cause: 40 })
})
