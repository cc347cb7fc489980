import { expect, it } from 'vitest'
import { deliveryWorld } from '../../test/support/delivery-world.ts'
import type { FleetMembership } from '../runtime/fleet/join-fleet.ts'
import { cancelReplay } from './control.ts'
import { recordLateOutcomes } from './outcomes.ts'

it('B18: a living process that waits long for its broker keeps its letters, and each is sent once', async () => {
  const { clock, store, fail, join, start, run, until, reach, published, shop } = deliveryWorld(5)
  const members: FleetMembership[] = []
  await fail()
  members.push(await join('one'))
  await clock.advance(1_000)
  let isWaiting = false
  shop.beforePublish = async by => {
    if (by !== 'one' || published.length !== 2) return
    isWaiting = true
    await new Promise<void>(resolve => void clock.schedule(20_000, resolve))
  }
  const id = await start()
  const running = run(id)
  await reach(() => isWaiting)
  members.push(await join('two'))
  expect((await until(running)).state).toBe('finished')
  expect(await store.replays.counts(id)).toMatchObject({ recovered: 5 })
  // By now the broker has answered the first process.
  await clock.advance(20_000)
  expect(published).toHaveLength(5)
  await until(Promise.all(members.map(member => member.close())))
})

it.each([3_600_000, -3_600_000])(
  'B18: a clock that is set by %d ms while a process waits for its broker lets no other one send its letters',
  async byMs => {
    const { clock, store, fail, join, start, run, until, reach, published, shop } = deliveryWorld(5)
    await fail()
    const one = await join('one')
    await clock.advance(1_000)
    let isWaiting = false
    shop.beforePublish = async by => {
      if (by !== 'one' || published.length !== 2) return
      isWaiting = true
      await new Promise<void>(resolve => void clock.schedule(20_000, resolve))
    }
    const id = await start()
    const running = run(id)
    await reach(() => isWaiting)
    const two = await join('two')
    clock.jump(byMs)
    await until(running)
    expect(await store.replays.counts(id)).toMatchObject({ recovered: 5 })
    await clock.advance(20_000)
    expect(published).toHaveLength(5)
    await until(Promise.all([one.close(), two.close()]))
  },
)

it('B18: a runner that follows a crashed one waits for the process that still sends, and nothing is sent twice', async () => {
  const { clock, store, fail, join, start, run, until, reach, published, shop } = deliveryWorld(5)
  const members: FleetMembership[] = []
  await fail()
  members.push(await join('one'))
  await clock.advance(1_000)
  let isWaiting = false
  shop.beforePublish = async by => {
    if (by !== 'one' || published.length !== 2) return
    isWaiting = true
    await new Promise<void>(resolve => void clock.schedule(20_000, resolve))
  }
  const id = await start()
  const { lease } = store.replays
  let isCrashed = false
  store.replays.lease = async (...of) => {
    if (isCrashed && of[1].startsWith('first')) throw new Error('the runner is gone')
    return lease.apply(store.replays, of)
  }
  const crashed = run(id, 'first').catch(() => 'crashed')
  await reach(() => isWaiting)
  isCrashed = true
  expect(await until(crashed)).toBe('crashed')
  members.push(await join('two'))
  // Its lease is over then, and the process has not heard from its broker yet.
  await clock.advance(11_000)
  expect((await until(run(id, 'second'))).state).toBe('finished')
  await clock.advance(20_000)
  expect(published).toHaveLength(5)
  await until(Promise.all(members.map(member => member.close())))
})

/** A process waits for its broker with the only letter of a replay. The runner was killed, and then the replay was cancelled. */
async function cancelledWhileSending(publishMs: number, options: Parameters<typeof deliveryWorld>[1] = {}) {
  const world = deliveryWorld(1, options)
  const { clock, store, fail, join, start, run, until, reach, shop } = world
  await fail()
  const member = await join('one')
  await clock.advance(1_000)
  let isWaiting = false
  shop.beforePublish = async () => {
    isWaiting = true
    await new Promise<void>(resolve => void clock.schedule(publishMs, resolve))
  }
  const id = await start()
  // The runner does not learn that the replay is cancelled, and its lease ends.
  const { lease } = store.replays
  store.replays.lease = async (...of) => {
    if (isWaiting && of[1].startsWith('first')) throw new Error('the runner is gone')
    return lease.apply(store.replays, of)
  }
  const crashed = run(id, 'first').catch(() => 'crashed')
  await reach(() => isWaiting)
  expect(await until(crashed)).toBe('crashed')
  await clock.advance(11_000)
  await cancelReplay(store, id, { by: 'ann', clock })
  return {
    ...{ clock, store, until, id, member, handled: world.handled },
    /** The number of letters in each state after a look at the replay. */
    async look() {
      await recordLateOutcomes(store, (await store.replays.get(id))!, clock)
      return (await store.deadLetters.stats()).byState
    },
  }
}

it.each([
  ['agrees with the others', 0],
  ['is an hour ahead', 3_600_000],
  ['is an hour behind', -3_600_000],
])(
  'B18, E9: a letter of a cancelled replay stays replaying while a process waits for its broker, if the clock of the store %s',
  async (_, storeAheadMs) => {
    const { clock, store, until, id, member, look } = await cancelledWhileSending(20_000, { storeAheadMs })
    expect(await look()).toEqual({ replaying: 1 })
    // The broker answers, and the event is handled.
    await clock.advance(10_000)
    expect(await look()).toEqual({ resolved: 1 })
    expect(await store.replays.counts(id)).toMatchObject({ recovered: 1 })
    await until(member.close())
  },
)

it('B18, E9: a letter of a cancelled replay stays replaying while a process that has left the fleet waits for its broker', async () => {
  const { clock, store, until, member, look } = await cancelledWhileSending(25_000)
  await until(member.close())
  expect(await store.fleet!.list()).toMatchObject([{ state: 'left' }])
  expect(await look()).toEqual({ replaying: 1 })
  await clock.advance(15_000)
  expect(await look()).toEqual({ resolved: 1 })
})

it('B18, E9: a letter of a cancelled replay stays replaying while a process without a report waits for its broker', async () => {
  const { clock, store, until, member, look } = await cancelledWhileSending(30_000)
  const fleet = store.fleet!
  const { list } = fleet
  fleet.list = async () => (await list.call(fleet)).map(each => ({ ...each, state: 'gone' as const }))
  expect(await look()).toEqual({ replaying: 1 })
  await clock.advance(20_000)
  expect(await look()).toEqual({ resolved: 1 })
  await until(member.close())
})

it('B18: a process gives up a publish that takes too long, and says that the event may still arrive', async () => {
  const { clock, store, handled, until, member, look } = await cancelledWhileSending(60_000)
  await clock.advance(15_000)
  expect(await look()).toEqual({ replaying: 1 })
  await clock.advance(10_000)
  const [command] = await store.commands!.list(1)
  expect(command?.outcome).toEqual({
    ok: false,
    error: 'the broker did not answer within 30 s; the event may still arrive',
  })
  expect(await look()).toEqual({ dead: 1 })
  // Nothing can call the event back: it is handled, and its letter stays dead.
  await clock.advance(30_000)
  expect(handled).toHaveLength(1)
  expect(await look()).toEqual({ dead: 1 })
  await until(member.close())
})

it('B18: the letters of a process that left while it waits for its broker are not sent by another one', async () => {
  const { clock, store, fail, join, start, run, until, reach, published, shop } = deliveryWorld(5)
  await fail()
  const one = await join('one')
  await clock.advance(1_000)
  let isWaiting = false
  shop.beforePublish = async by => {
    if (by !== 'one' || published.length !== 2) return
    isWaiting = true
    await new Promise<void>(resolve => void clock.schedule(20_000, resolve))
  }
  const id = await start()
  const running = run(id)
  await reach(() => isWaiting)
  const two = await join('two')
  await until(one.close())
  expect((await until(running)).state).toBe('finished')
  expect(await store.replays.counts(id)).toMatchObject({ recovered: 5 })
  await clock.advance(20_000)
  expect(published).toHaveLength(5)
  await until(two.close())
})

it('B18, E9: the letter of a cancelled replay is dead again when the process that had it never answers', async () => {
  const { clock, store, fail, join, start, run, until, reach, shop } = deliveryWorld(1)
  await fail()
  await join('one')
  await clock.advance(1_000)
  let isWaiting = false
  shop.beforePublish = () => {
    isWaiting = true
    return new Promise<never>(() => {})
  }
  const id = await start()
  const running = run(id)
  await reach(() => isWaiting)
  await cancelReplay(store, id, { by: 'ann', clock })
  expect((await store.deadLetters.stats()).byState).toEqual({ replaying: 1 })
  expect((await until(running)).state).toBe('cancelled')
  await recordLateOutcomes(store, (await store.replays.get(id))!, clock)
  expect((await store.deadLetters.stats()).byState).toEqual({ dead: 1 })
})
