import { expect, it } from 'vitest'
import { deliveryWorld } from '../../../test/support/delivery-world.ts'

it('B18: a process whose claim is answered late may send no longer than if it had been answered at once', async () => {
  const { clock, store, fail, join, start, run, until, reach, published } = deliveryWorld(1)
  await fail()
  const one = await join('one', { reportEveryMs: 1_000 })
  await clock.advance(1_000)
  const id = await start()
  // The store gives the delivery to the first process at once, and the answer needs 4.5 seconds.
  const commands = store.commands!
  const { claim } = commands
  let claimedAt: number | undefined
  commands.claim = async (...of) => {
    const claimed = await claim.apply(commands, of)
    if (of[0] === one.id && claimed.length > 0) {
      claimedAt = clock.now()
      await new Promise<void>(resolve => void clock.schedule(4_500, resolve))
    }
    return claimed
  }
  // Its reports do not arrive either, so it is gone after 3 seconds.
  const fleet = store.fleet!
  const { report } = fleet
  fleet.report = async (...of) => {
    if (of[0].id !== one.id || claimedAt === undefined) await report.apply(fleet, of)
  }
  const running = run(id)
  await reach(() => claimedAt !== undefined)
  // It reads its letter, and that answer comes when another process has sent the item already.
  const { get } = store.deadLetters
  const late = Promise.withResolvers<void>()
  let isStalled = false
  store.deadLetters.get = async letterId => {
    const letter = await get.call(store.deadLetters, letterId)
    if (!isStalled) {
      isStalled = true
      await late.promise
    }
    return letter
  }
  await reach(() => isStalled)
  const two = await join('two')
  await reach(() => published.length === 1)
  // Counted from the answer, its time to send would not be over yet.
  expect(clock.now() - claimedAt!).toBeLessThan(8_500)
  late.resolve()
  await clock.advance(100)
  expect(published).toEqual([expect.stringMatching(/^two /)])
  expect((await until(running)).state).toBe('finished')
  await until(Promise.all([one.close(), two.close()]))
})
