import { expect, it } from 'vitest'
import { cancelWhileSending } from '../../../test/support/letter-being-sent.ts'
import { createWorldAfterOutage } from '../../../test/support/outage.ts'
import { serverWorld } from '../../../test/support/server-world.ts'
import { cancelReplay } from '../../replay/control.ts'
import { planReplay } from '../../replay/plan.ts'

const EVERY_MINUTE = { cron: '* * * * *', batchSize: 60, maxAgeMs: 86_400_000 }

it('K8: a replay that the schedule runs is not run again by the search for replays without a runner', async () => {
  const shop = await createWorldAfterOutage(60)
  shop.world.broken = () => false
  shop.world.handlerMs = 20_000
  const { clock, store } = shop
  const published: string[] = []
  const broker = store.broker!
  const publish = broker.publish.bind(broker)
  broker.publish = async events => {
    published.push(...events.map(({ id }) => id))
    await publish(events)
  }
  const { ask, server, errors } = serverWorld({ stores: store, clock, automaticReplay: EVERY_MINUTE })
  await ask('/healthz')
  for (let second = 0; second < 400; second++) await clock.advance(1_000)
  expect(published).toHaveLength(60)
  expect(new Set(shop.handled).size).toBe(60)
  expect(shop.handled).toHaveLength(60)
  expect(errors).toEqual([])
  await server.close()
})

/** A replay that was cancelled with all it had sent on its way, and what came of it since. */
async function stoppedInFlight() {
  const shop = await createWorldAfterOutage(5)
  shop.world.broken = () => false
  shop.world.handlerMs = 2_000
  const replay = await shop.plan({ stages: ['rest'] })
  await shop.start(replay)
  const run = shop.runAs('runner', replay)
  await shop.clock.advance(1_000)
  await cancelReplay(shop.store, replay.id, shop.ann)
  await shop.clock.advance(5_000)
  await run
  expect(await shop.store.replays.counts(replay.id)).toMatchObject({ sent: 5 })
  return { ...shop, replay }
}

it('B12: the server goes on gathering the outcomes of replays that were stopped', async () => {
  const { store, clock, replay } = await stoppedInFlight()
  const { ask, server } = serverWorld({ stores: store, clock })
  await ask('/healthz')
  await clock.advance(1_000)
  expect(await store.replays.counts(replay.id)).toMatchObject({ sent: 0, recovered: 5 })
  await server.close()
})

it('B18: the server looks at a cancelled replay until no process sends its letters, also when many newer ones exist', async () => {
  const { ask, bury, make, store, clock, server } = serverWorld()
  const [letter, ...others] = await bury(...Array.from({ length: 26 }, () => make.letter()))
  await cancelWhileSending(store, letter!, clock)
  for (const [index, { id }] of others.entries()) {
    await clock.advance(1)
    const request = { ids: [id], reason: 'fixed', by: 'ann' }
    await planReplay(store, request, { clock, newId: () => `newer-${index}` })
  }
  await ask('/healthz')
  await clock.advance(30_000)
  expect((await store.deadLetters.get(letter!.id))?.state).toBe('replaying')
  await clock.advance(30_000)
  expect((await store.deadLetters.get(letter!.id))?.state).toBe('dead')
  await server.close()
})

it('B18: the server no longer looks at a replay that was cancelled an hour ago', async () => {
  const { ask, bury, make, store, clock, server } = serverWorld()
  const letters = await bury(...Array.from({ length: 26 }, () => make.letter()))
  const looked: string[] = []
  const { items } = store.replays
  store.replays.items = (id, query) => {
    looked.push(id)
    return items.call(store.replays, id, query)
  }
  const ids: string[] = []
  for (const [index, { id }] of letters.entries()) {
    await clock.advance(1)
    const request = { ids: [id], reason: 'fixed', by: 'ann' }
    const replay = await planReplay(store, request, { clock, newId: () => `r-${index}` })
    await cancelReplay(store, replay.id, { by: 'ann', clock })
    ids.push(replay.id)
  }
  await ask('/healthz')
  looked.length = 0
  await clock.advance(15_000)
  expect(new Set(looked)).toEqual(new Set(ids))
  await clock.advance(3_600_000)
  looked.length = 0
  await clock.advance(15_000)
  expect(new Set(looked)).toEqual(new Set(ids.slice(-20)))
  await server.close()
})

it('B12, F8: who looks at such a replay sees them at once, and a server that changes nothing leaves them', async () => {
  const { store, clock, replay } = await stoppedInFlight()
  const path = `/api/v1/replays/${replay.id}`
  const reader = serverWorld({ stores: store, clock, readOnly: true })
  expect((await reader.ask(path)).body.counts).toMatchObject({ sent: 5 })
  // The look of the server itself finds the list empty, so that only the question can have gathered.
  store.replays.list = async () => []
  const { ask, server } = serverWorld({ stores: store, clock })
  expect((await ask(path)).body.counts).toMatchObject({ sent: 0, recovered: 5 })
  await server.close()
})

it('F8: closing waits for a broker that does not answer no longer than seconds', async () => {
  for (const automaticReplay of [undefined, EVERY_MINUTE]) {
    const { store, clock } = await createWorldAfterOutage(1)
    store.broker!.publish = () => new Promise(() => {})
    const { tell, ask, server } = serverWorld({ stores: store, clock, automaticReplay })
    await ask('/healthz')
    if (automaticReplay === undefined) {
      const plan = await tell('/api/v1/replays', { filter: {}, reason: 'mended' })
      await tell(`/api/v1/replays/${plan.body.id}/start`, {})
    }
    await clock.advance(70_000)
    let isClosed = false
    void server.close().then(() => {
      isClosed = true
    })
    await clock.advance(4_000)
    expect(isClosed).toBe(false)
    await clock.advance(2_000)
    expect(isClosed).toBe(true)
  }
})

it('F8: a replay whose server died is continued by another within 15 s, and nothing is sent twice', async () => {
  const shop = await createWorldAfterOutage(20)
  shop.world.broken = () => false
  const { clock, store, sends } = shop
  const replay = await shop.plan({ stages: ['rest'], perSecond: 2 })
  await shop.start(replay)
  const { replays } = store
  const release = replays.releaseLease.bind(replays)
  // A killed server does not release its lease.
  replays.releaseLease = async () => {}
  await shop.runFor(3_000, 'killed', replay)
  replays.releaseLease = release
  const before = sends.length
  const published: string[] = []
  const broker = store.broker!
  const publish = broker.publish.bind(broker)
  broker.publish = async events => {
    published.push(...events.map(({ id }) => id))
    await publish(events)
  }
  const { ask, server, errors } = serverWorld({ stores: store, clock })
  await ask('/healthz')
  await clock.advance(14_000)
  expect(published.length).toBeGreaterThan(0)
  for (let second = 0; second < 60; second++) await clock.advance(1_000)
  expect(before + published.length).toBe(20)
  expect(shop.handled).toHaveLength(20)
  expect(errors).toEqual([])
  await server.close()
})
