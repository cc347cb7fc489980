import { expect, it } from 'vitest'
import { createWorldAfterOutage } from '../../test/support/outage.ts'

const REFUSED = 'is running in another process'

it('K8: a run that is slower than its lease keeps it, between letters and while it waits for a turn', async () => {
  for (const perSecond of [1, 0.01]) {
    const it = await createWorldAfterOutage(60)
    it.world.broken = () => false
    const replay = await it.plan({ perSecond, stages: ['rest'] })
    await it.start(replay)
    const stop = new AbortController()
    const first = it.runAs('first', replay, stop.signal)
    for (let half = 0; half < 3; half++) {
      await it.clock.advance(15_500)
      expect(await it.runAs('second', replay)).toContain(REFUSED)
    }
    expect(it.sends).toHaveLength(perSecond === 1 ? 47 : 1)
    stop.abort()
    await first
  }
})

it.each([
  ['', 0],
  [', also when the clock is set back', -3_600_000],
])(
  'K8: a run that was away for too long ends without a word, and leaves the rest to the one that has it now%s',
  async (_, jumpMs) => {
    const it = await createWorldAfterOutage(3)
    it.world.broken = () => false
    const replay = await it.plan({ stages: ['rest'] })
    await it.start(replay)
    const { replays } = it.store
    const lease = replays.lease.bind(replays)
    // The broker takes a minute for the first letter. The run keeps its lease for half of that, and the second letter comes to
    // its turn without a lease.
    const broker = it.store.broker!
    const publish = broker.publish.bind(broker)
    let isFirst = true
    broker.publish = async events => {
      if (isFirst) {
        isFirst = false
        await new Promise<void>(resolve => it.clock.schedule(60_000, resolve))
      }
      await publish(events)
    }
    const away = it.runAs('away', replay)
    await it.clock.advance(5_000)
    it.clock.jump(jumpMs)
    await it.clock.advance(25_000)
    expect(await lease(replay.id, 'another', 120_000)).toBe(false)
    await it.clock.advance(10_000)
    expect(await lease(replay.id, 'another', 120_000)).toBe(true)
    await it.clock.advance(60_000)
    expect(await away).toMatchObject({ state: 'running' })
    expect(it.sends).toHaveLength(1)
    expect(await replays.counts(replay.id)).toMatchObject({ sent: 1, waiting: 2 })
  },
)

it('K8: two runs are two, also when they go by one name', async () => {
  const it = await createWorldAfterOutage(5)
  const replay = await it.plan()
  await it.start(replay)
  const stop = new AbortController()
  const first = it.runAs('server', replay, stop.signal)
  expect(await it.runAs('server', replay)).toContain(REFUSED)
  stop.abort()
  await it.clock.advance(1_000)
  await first
})

it('B11: events that may be lost are sent again at the pace of the replay, and not after the replay was stopped', async () => {
  const it = await createWorldAfterOutage(20)
  it.world.handlerMs = 3_600_000
  const replay = await it.plan({ perSecond: 10, stages: ['rest'] })
  await it.start(replay)
  const stop = new AbortController()
  const first = it.runAs('first', replay, stop.signal)
  await it.clock.advance(3_000)
  stop.abort()
  await first
  expect(it.sends).toHaveLength(20)
  // As if it had crashed before it could write down that they left.
  const { replays } = it.store
  const sent = await replays.items(replay.id, { status: 'sent' })
  await replays.record(
    replay.id,
    sent.map(({ handedOn: _, ...item }) => item),
  )
  await it.runFor(450, 'second', replay)
  expect(it.sends.filter(({ by }) => by === 'second')).toHaveLength(5)
})

it('B18: a claim that reaches the store after another run has sent the letter does nothing', async () => {
  const it = await createWorldAfterOutage(1)
  const replay = await it.plan()
  await it.start(replay)
  const { deadLetters } = it.store
  const change = deadLetters.change.bind(deadLetters)
  const late = Promise.withResolvers<void>()
  deadLetters.change = async (...of) => {
    deadLetters.change = change
    await late.promise
    return change(...of)
  }
  const first = it.runAs('first', replay)
  await it.clock.advance(15_000)
  // The event fails again under the second run, so the letter is dead as before.
  expect(await it.run(replay)).toMatchObject({ state: 'halted' })
  late.resolve()
  await it.clock.advance(1_000)
  await first
  expect(it.sends).toHaveLength(1)
  expect((await deadLetters.list()).letters).toMatchObject([{ state: 'dead', replays: 1 }])
})

it('B18: a record of a send that reaches the store after another run has sent the letter does nothing, and its run ends', async () => {
  const it = await createWorldAfterOutage(1)
  it.world.handlerMs = 3_600_000
  const replay = await it.plan()
  await it.start(replay)
  const { replays } = it.store
  const record = replays.record.bind(replays)
  const late = Promise.withResolvers<void>()
  replays.record = async (...of) => {
    replays.record = record
    await late.promise
    return record(...of)
  }
  const first = it.runAs('first', replay)
  await it.clock.advance(15_000)
  await it.runFor(2_000, 'second', replay)
  expect(it.sends).toHaveLength(1)
  const sent = await replays.items(replay.id)
  expect(sent).toMatchObject([{ status: 'sent', handedOn: 'durable' }])
  late.resolve()
  await it.clock.advance(1_000)
  await first
  expect(await replays.items(replay.id)).toEqual(sent)
  expect(it.sends).toHaveLength(1)
})
