import { expect, it } from 'vitest'
import { createWorldAfterOutage } from '../../test/support/outage.ts'
import { SealError } from '../core/event/errors.ts'
import { Recorder } from '../testing/recorder.ts'
import { cancelReplay, resumeReplay } from './control.ts'
import { recordLateOutcomes } from './outcomes.ts'
import { runReplay } from './runner.ts'
import type { ReplayTarget } from './target.ts'

/** A replay that was halted while most of what it sent was on its way. */
async function haltedInFlight() {
  const it = await createWorldAfterOutage(40)
  it.world.handlerMs = 300
  const replay = await it.plan({ stages: ['rest'] })
  await it.start(replay)
  expect(await it.run(replay)).toMatchObject({ state: 'halted' })
  expect((await it.store.replays.counts(replay.id)).sent).toBeGreaterThan(20)
  return { ...it, replay }
}

it('B11: events in flight at a halt do not count against the replay after it resumes, no matter when they end', async () => {
  for (const waitMs of [600_000, 0]) {
    const it = await haltedInFlight()
    await it.clock.advance(waitMs)
    await resumeReplay(it.store, it.replay.id, it.ann)
    expect(await it.run(it.replay)).toMatchObject({ state: 'finished' })
    expect(await it.store.replays.counts(it.replay.id)).toMatchObject({ failed_same_cause: 40, sent: 0 })
  }
})

it('B11: events that are sent after that do count, also with a new runner', async () => {
  const it = await createWorldAfterOutage(200)
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
  await recordLateOutcomes(it.store, (await replays.get(it.replay.id))!, it.clock)
  expect(await replays.counts(it.replay.id)).toMatchObject({ sent: 0, failed_same_cause: 40 })
})

it('B12: an item of a finished replay that a process recorded late as sent gets its outcome again', async () => {
  const it = await createWorldAfterOutage(3)
  it.world.broken = () => false
  const replay = await it.plan({ stages: ['rest'] })
  await it.start(replay)
  const { replays } = it.store
  const ended = await it.run(replay)
  const [item] = await replays.items(replay.id)
  await replays.record(replay.id, [{ ...item!, status: 'sent', endedAt: undefined }])
  await recordLateOutcomes(it.store, ended, it.clock)
  expect(await replays.counts(replay.id)).toMatchObject({ sent: 0, recovered: 3 })
})

it('E20, B12: each sent event is reported once when it is published, and once when its outcome is known', async () => {
  const it = await createWorldAfterOutage(5)
  const [stillBroken] = it.events
  it.world.broken = id => id === stillBroken?.id
  const recorder = new Recorder()
  const replay = await it.plan({ stages: ['rest'] })
  await it.start(replay)
  let refusals = 1
  const target: ReplayTarget = {
    async send(events, origin) {
      if (refusals-- > 0) throw new Error('the broker is away')
      await it.target.send(events, origin)
    },
  }
  const run = async () => {
    const { observer } = recorder
    const options = { target, environment: it.environment, owner: 'runner', observer }
    const ended = runReplay(it.store, replay.id, options).catch((error: Error) => error.message)
    await it.clock.advance(60_000)
    return ended
  }
  // An event that could not be published is not reported as sent; the next runner sends it.
  expect([await run(), recorder.count('replaySent')]).toEqual(['the broker is away', 0])
  expect(await run()).toMatchObject({ state: 'finished' })
  const { letters } = await it.store.deadLetters.list()
  const sent = recorder.of('replaySent')
  expect(sent.map(({ letterId }) => letterId).sort()).toEqual(letters.map(({ id }) => id).sort())
  const { id: letterId, handler: name } = letters[0]!
  expect(sent).toContainEqual({ channel: 'orders', name, letterId, replayId: replay.id })
  const ended = recorder.of('replayItemEnded').map(({ status }) => status)
  expect(ended.sort()).toEqual(['failed_same_cause', ...Array(4).fill('recovered')])
})

it('E20, K8: what a gate keeps back is told of as skipped, and not as sent', async () => {
  const it = await createWorldAfterOutage(2)
  const recorder = new Recorder()
  const replay = await it.plan({ stages: ['rest'], maxAgeMs: 60_000 })
  await it.start(replay)
  await it.clock.advance(120_000)
  const { target, environment } = it
  const ended = runReplay(it.store, replay.id, {
    target,
    environment,
    owner: 'runner',
    observer: recorder.observer,
  })
  await it.clock.advance(10_000)
  await ended
  expect(recorder.of('replayItemEnded').map(({ status }) => status)).toEqual(['skipped', 'skipped'])
  expect(recorder.count('replaySent')).toBe(0)
})

it('B12: a letter that this process cannot read has no outcome yet, and holds up no other letter of its replay', async () => {
  const it = await createWorldAfterOutage(3)
  it.world.broken = () => false
  const replay = await it.plan({ stages: ['rest'] })
  await it.start(replay)
  const { replays, deadLetters } = it.store
  const [unread] = await replays.items(replay.id)
  const get = deadLetters.get.bind(deadLetters)
  let isReadable = false
  const fault = new SealError('event e1', "is sealed with key 'k1', and no key is given")
  deadLetters.get = async id => {
    const { sent } = await replays.counts(replay.id)
    if (id === unread!.letterId && sent > 0 && !isReadable) throw fault
    return get(id)
  }
  await it.runFor(60_000, 'first', replay)
  expect(await replays.counts(replay.id)).toMatchObject({ sent: 1, recovered: 2 })
  isReadable = true
  expect(await it.run(replay)).toMatchObject({ state: 'finished' })
  expect(await replays.counts(replay.id)).toMatchObject({ sent: 0, recovered: 3 })
})
