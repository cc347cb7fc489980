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

it('B18, E9: the letter of a cancelled replay stays replaying while a process waits for its broker', async () => {
  const { clock, store, fail, join, start, run, until, reach, shop } = deliveryWorld(1)
  await fail()
  const member = await join('one')
  await clock.advance(1_000)
  let isWaiting = false
  shop.beforePublish = async () => {
    isWaiting = true
    await new Promise<void>(resolve => void clock.schedule(20_000, resolve))
  }
  const id = await start()
  // The runner is killed: it does not learn that the replay is cancelled, and its lease ends.
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
  expect((await store.deadLetters.stats()).byState).toEqual({ replaying: 1 })
  // The broker answers, and the event is handled.
  await clock.advance(10_000)
  await recordLateOutcomes(store, (await store.replays.get(id))!, clock)
  expect((await store.deadLetters.stats()).byState).toEqual({ resolved: 1 })
  expect(await store.replays.counts(id)).toMatchObject({ recovered: 1 })
  await until(member.close())
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
