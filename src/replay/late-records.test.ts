import { expect, it } from 'vitest'
import { createWorldAfterOutage } from '../../test/support/outage.ts'

it('E9: an item that the store records as sent late, for a runner that has lost its lease, is sent by the next one', async () => {
  const it = await createWorldAfterOutage(3)
  it.world.broken = () => false
  const replay = await it.plan({ stages: ['rest'] })
  await it.start(replay)
  const { replays } = it.store
  const { record } = replays
  const arriving = Promise.withResolvers<void>()
  let records = 0
  // The second letter is claimed, and the record of it is on its way.
  replays.record = async (...of) => {
    if (of[1][0]?.status === 'sent' && of[1][0].handedOn === undefined && records++ === 1)
      await arriving.promise
    return record.apply(replays, of)
  }
  void it.runAs('first', replay)
  await it.clock.advance(60_000)
  const second = it.runAs('second', await replays.get(replay.id).then(found => found!))
  // It has looked for the items of the first runner, and sends nothing yet.
  const { items } = replays
  const reading = Promise.withResolvers<void>()
  let isHeld = true
  replays.items = async (...of) => {
    if (isHeld && of[1]?.status === 'waiting') await reading.promise
    return items.apply(replays, of)
  }
  await it.clock.advance(1_000)
  isHeld = false
  arriving.resolve()
  await it.clock.advance(0)
  reading.resolve()
  await it.clock.advance(60_000)
  expect(await second).toMatchObject({ state: 'finished' })
  expect(it.handled).toHaveLength(3)
})
