import { expect, it } from 'vitest'
import { sinkWorld } from '../../test/support/sink-delivery-world.ts'

/** The letter of an event that the rate limit of a dispatcher refused: it goes to every sink. */
async function worldWithRefused() {
  const world = await sinkWorld()
  const refused = world.make.letter({ channel: 'orders', handler: '*', origin: {} })
  await world.store.deadLetters.send(refused)
  return { ...world, refused, ids: [refused.id] }
}

it('B18: a letter for every sink is sent by a living process that has the dispatcher of its channel', async () => {
  const { clock, store, join, sinkOf, start, run, until, written, refused, ids } = await worldWithRefused()
  const other = await join('other', {
    consumers: [],
    dispatchers: [sinkOf('other', async () => {}, { channel: 'mails' })],
  })
  const dispatcher = sinkOf('one')
  const one = await join('one', { consumers: [], dispatchers: [dispatcher] })
  await clock.advance(1_000)
  const id = await start({ filter: undefined, ids })
  expect((await until(run(id))).state).toBe('finished')
  expect(written).toEqual([`one ${refused.event.id}`])
  expect(dispatcher.health().sinks).toMatchObject({ crm: { delivered: 1 }, other: { delivered: 1 } })
  expect(await store.deadLetters.get(refused.id)).toMatchObject({ state: 'resolved' })
  await until(Promise.all([one.close(), other.close()]))
})

it('B18: a plan without such a process says what is missing', async () => {
  const { clock, store, join, sinkOf, plan, until, ids } = await worldWithRefused()
  const other = await join('other', {
    consumers: [],
    dispatchers: [sinkOf('other', async () => {}, { channel: 'mails' })],
  })
  await clock.advance(1_000)
  await expect(plan({ filter: undefined, ids })).rejects.toMatchObject({
    skipped: [
      {
        decision: 'skip_unreachable',
        reason: expect.stringMatching(/no living process has a dispatcher of orders either$/),
      },
    ],
  })
  expect(await store.replays.list()).toEqual([])
  await until(other.close())
})
