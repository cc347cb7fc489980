import { expect, it } from 'vitest'
import { createWorldAfterOutage } from '../../test/support/outage.ts'
import { memoryStore } from '../adapters/memory/index.ts'
import { createLetter } from '../core/dead-letter/create.ts'
import type { Origin } from '../core/dead-letter/letter.ts'
import { createEvent } from '../core/event/event.ts'
import { createIdSource } from '../core/event/uuid.ts'
import type { Replay } from '../ports/replays.ts'
import { createConsumer } from '../runtime/consumer/consumer.ts'
import { createFactory } from '../testing/factories.ts'
import { FakeClock } from '../testing/fake-clock.ts'
import { seededRandom } from '../testing/seeded-random.ts'
import { replayAutomatically } from './automatic.ts'
import { approveReplay } from './control.ts'

it('E19: replays on its schedule, so many at a time and none that is too old', async () => {
  const clock = new FakeClock(Date.UTC(2026, 0, 1, 1, 30))
  const store = memoryStore({ clock })
  const newId = createIdSource(seededRandom(1))
  const dead = async (id: string, at: number) => {
    const event = createEvent({ id, type: 't', channel: 'orders', payload: id }, { now: at, newId })
    await store.deadLetters.send(
      createLetter({ event, handler: 'orders', reason: 'attempts_exhausted', at, autoReplay: true }),
    )
  }
  await dead('too old', clock.now() - 7_200_000)
  for (const id of ['a', 'b', 'c']) await dead(id, clock.now())
  const handled: unknown[] = []
  const consumer = createConsumer({
    broker: store.broker!,
    channel: 'orders',
    deadLetters: store.deadLetters,
    clock,
    handle: event => void handled.push(event.payload),
  })
  await consumer.start()
  const runs: Replay[] = []
  const schedule = replayAutomatically({
    store,
    cron: '0 2 * * *',
    batchSize: 3,
    maxAgeMs: 3_600_000,
    target: { send: events => store.broker!.publish(events) },
    environment: { clock, newId },
    owner: 'server',
    onRun: replay => runs.push(replay),
  })
  await clock.advance(29 * 60_000)
  expect(handled).toEqual([])
  await clock.advance(5 * 60_000)
  expect([...handled].sort()).toEqual(['a', 'b', 'c'])
  expect(runs).toMatchObject([{ state: 'finished', createdBy: 'automatic replay' }])
  await clock.advance(24 * 3_600_000)
  expect(handled).toHaveLength(3)
  await schedule.close()
})

const EVERY_MINUTE = { cron: '* * * * *', batchSize: 5, maxAgeMs: 86_400_000, owner: 'server' }

it('E19: runs the replays that it plans, with and without a listener', async () => {
  const it = await createWorldAfterOutage(5)
  it.world.broken = () => false
  const schedule = replayAutomatically({ ...EVERY_MINUTE, ...it })
  await it.clock.advance(70_000)
  expect(it.handled).toHaveLength(5)
  expect(await it.store.replays.list()).toMatchObject([{ state: 'finished' }])
  await schedule.close()
})

it("E19: letters that no gate lets through take nobody else's place, and alone they make no replay", async () => {
  const it = await createWorldAfterOutage(30)
  it.world.broken = () => false
  const newest = (await it.store.deadLetters.list({ limit: 5 })).letters.map(({ event }) => event.payload)
  const never = new Set(newest.map(payload => (payload as { n: number }).n))
  const schema = {
    '~standard': {
      version: 1 as const,
      vendor: 'test',
      validate: (value: unknown) =>
        never.has((value as { n: number }).n) ? { issues: [{ message: 'no longer' }] } : { value },
    },
  }
  const environment = { ...it.environment, schemaOf: () => schema }
  const schedule = replayAutomatically({ ...EVERY_MINUTE, ...it, environment })
  await it.clock.advance(600_000)
  expect((await it.store.deadLetters.stats()).byState).toEqual({ resolved: 25, dead: 5 })
  expect((await it.store.replays.list()).map(({ count }) => count)).toEqual([5, 5, 5, 5, 5])
  await schedule.close()
})

it('R3: where a second person approves, it plans and waits, and starts what was approved', async () => {
  const it = await createWorldAfterOutage(5)
  it.world.broken = () => false
  const schedule = replayAutomatically({ ...EVERY_MINUTE, ...it, needsApproval: true })
  await it.clock.advance(200_000)
  expect(it.handled).toEqual([])
  const plans = await it.store.replays.list()
  expect(plans).toMatchObject([{ state: 'planned', needsApproval: true, createdBy: 'automatic replay' }])
  await approveReplay(it.store, plans[0]!.id, it.ann)
  await it.clock.advance(120_000)
  expect(it.handled).toHaveLength(5)
  expect(await it.store.replays.list()).toMatchObject([{ state: 'finished', approvedBy: 'ann' }])
  await schedule.close()
})

it('B18: letters that nothing here can send take no place in a batch', async () => {
  const it = await createWorldAfterOutage(5)
  it.world.broken = () => false
  const target = {
    ...it.target,
    routeOf: ({ origin }: { readonly origin: Origin }) =>
      origin.broker === undefined
        ? ({ kind: 'none', reason: 'it came from no broker' } as const)
        : ({ kind: 'durable', via: 'memory' } as const),
  }
  for (let n = 0; n < 10; n++) await it.store.deadLetters.send(createFactory(it).letter({ autoReplay: true }))
  const schedule = replayAutomatically({ ...EVERY_MINUTE, ...it, target })
  await it.clock.advance(70_000)
  expect(it.handled).toHaveLength(5)
  await schedule.close()
})

it('R3: takes only letters whose policy allows it, and the gate says so before each send', async () => {
  const it = await createWorldAfterOutage(6, {
    autoReplay: ({ event }) => (event.payload as { n: number }).n % 2 === 0,
  })
  it.world.broken = () => false
  const schedule = replayAutomatically({ ...EVERY_MINUTE, ...it })
  await it.clock.advance(600_000)
  expect((await it.store.deadLetters.stats()).byState).toEqual({ resolved: 3, dead: 3 })
  const { letters } = await it.store.deadLetters.list({ state: 'dead' })
  expect(letters.map(({ autoReplay }) => autoReplay)).toEqual([undefined, undefined, undefined])
  await schedule.close()
  await expect(it.plan({ isAutomatic: true })).rejects.toMatchObject({ findings: { skip_unapproved: 3 } })
  await it.store.deadLetters.send(createFactory(it).letter({ autoReplay: true }))
  const plan = await it.plan({ isAutomatic: true })
  expect([plan.isAutomatic, plan.findings]).toEqual([true, { skip_unapproved: 3, replay: 1 }])
  const byPerson = await it.plan()
  expect([byPerson.isAutomatic, byPerson.findings]).toEqual([undefined, { replay: 4 }])
})

it('E19: a replay that a dead process left running is continued, and its letters are not planned once more', async () => {
  const it = await createWorldAfterOutage(5)
  it.world.broken = () => false
  const left = await it.plan({ by: 'automatic replay', isAutomatic: true, perSecond: 1 })
  await it.start(left)
  await it.runFor(2_500, 'dead', left)
  expect(it.handled.length).toBeLessThan(5)
  const schedule = replayAutomatically({ ...EVERY_MINUTE, ...it })
  await it.clock.advance(70_000)
  expect(await it.store.replays.list()).toMatchObject([{ id: left.id, state: 'finished' }])
  expect([...it.handled].sort()).toEqual([...new Set(it.events.map(({ id }) => id))].sort())
  await schedule.close()
})

it('E19: a plan that a dead process did not start is started, and no second one is made', async () => {
  const it = await createWorldAfterOutage(5)
  it.world.broken = () => false
  const left = await it.plan({ by: 'automatic replay', isAutomatic: true })
  const schedule = replayAutomatically({ ...EVERY_MINUTE, ...it })
  await it.clock.advance(70_000)
  expect(await it.store.replays.list()).toMatchObject([{ id: left.id, state: 'finished' }])
  expect(it.handled).toHaveLength(5)
  await schedule.close()
})
