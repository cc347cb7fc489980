import { expect, it } from 'vitest'
import { deliveryWorld } from '../../../test/support/delivery-world.ts'
import { sleep } from '../sleep.ts'

it('B18: a process whose claim is answered late may send no longer than if it had been answered at once', async () => {
  const { clock, store, fail, join, start, run, until, reach, published } = deliveryWorld(1)
  await fail()
  const one = await join('one')
  await clock.advance(1_000)
  const id = await start()
  // The store gives the delivery to the first process at once, and the answer needs 4.5 seconds.
  const commands = store.commands!
  const { claim } = commands
  let claimedAt: number | undefined
  commands.claim = async (...of) => {
    const claimed = await claim.apply(commands, of)
    if (of[0] === one.id && claimed.length > 0 && claimedAt === undefined) {
      claimedAt = clock.now()
      await sleep(clock, 4_500)
    }
    return claimed
  }
  const running = run(id)
  await reach(() => claimedAt !== undefined)
  await clock.advance(6_000)
  expect(published).toEqual([])
  expect((await until(running)).state).toBe('finished')
  expect(published).toHaveLength(1)
  await until(one.close())
})

it('B18: a process does not send an item if the store needed too long to say that it is its own', async () => {
  const { clock, store, fail, join, start, run, until, reach, published } = deliveryWorld(1)
  await fail()
  const one = await join('one')
  await clock.advance(1_000)
  const id = await start()
  const { get } = store.deadLetters
  let isAsked = false
  store.deadLetters.get = async letterId => {
    const letter = await get.call(store.deadLetters, letterId)
    if (letter?.state === 'replaying' && !isAsked) {
      isAsked = true
      await sleep(clock, 2_000)
    }
    return letter
  }
  const running = run(id)
  await reach(() => isAsked)
  // A runner could have taken the item back while the answer was on its way.
  await clock.advance(2_500)
  expect(published).toEqual([])
  expect((await until(running)).state).toBe('finished')
  expect(published).toHaveLength(1)
  await until(one.close())
})

it('B18: a clock that is set does not lengthen the time in which a process may send', async () => {
  const { clock, store, fail, join, start, run, until, reach, published } = deliveryWorld(1)
  await fail()
  const one = await join('one')
  await clock.advance(1_000)
  const id = await start()
  const { get } = store.deadLetters
  let isAsked = false
  store.deadLetters.get = async letterId => {
    const letter = await get.call(store.deadLetters, letterId)
    if (letter?.state === 'replaying' && !isAsked) {
      isAsked = true
      await sleep(clock, 5_000)
    }
    return letter
  }
  const running = run(id)
  await reach(() => isAsked)
  clock.jump(-60_000)
  await clock.advance(5_500)
  expect(published).toEqual([])
  clock.jump(60_000)
  expect((await until(running)).state).toBe('finished')
  expect(published).toHaveLength(1)
  await until(one.close())
})
