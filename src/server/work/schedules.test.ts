import { expect, it } from 'vitest'
import { PEOPLE, secretOf, serverWorld } from '../../../test/support/server-world.ts'
import { createConsumer } from '../../runtime/consumer/consumer.ts'

const DAY_MS = 86_400_000

/** A server whose letters a consumer handles when they are replayed. */
async function billedWorld() {
  const base = serverWorld()
  const { clock, store } = base
  const billing = { handled: 0 }
  const consumer = createConsumer({
    broker: store.broker!,
    channel: 'orders',
    name: 'bill',
    deadLetters: store.deadLetters,
    clock,
    handle: () => void billing.handled++,
  })
  await consumer.start()
  return { base, clock, store, billing, consumer }
}

it('E13, K9: letters past their time are deleted at the time of cleaning up, and that is audited', async () => {
  const base = serverWorld()
  const { clock, store } = base
  const { ask, server } = serverWorld({
    stores: store,
    clock,
    retentionMs: 3 * DAY_MS,
    cleanup: { cron: '0 2 * * *' },
  })
  const discard = async (channel: string) => {
    const [letter] = (await store.deadLetters.list({ channel })).letters
    await store.deadLetters.change(letter!.id, { to: 'discarded', at: clock.now() })
  }
  await base.bury(base.make.letter({ channel: 'old' }), base.make.letter({ channel: 'undecided' }))
  await base.bury(base.make.letter({ channel: 'brief', expiresAt: clock.now() + 1_000 }))
  await discard('old')
  await ask('/healthz')
  await clock.advance(DAY_MS)
  expect((await store.deadLetters.stats()).byChannel).toEqual({ old: 1, undecided: 1 })
  await clock.advance(2 * DAY_MS)
  await base.bury(base.make.letter({ channel: 'new' }))
  await discard('new')
  await clock.advance(DAY_MS)
  expect((await store.deadLetters.stats()).byChannel).toEqual({ undecided: 1, new: 1 })
  expect(await base.audited()).toEqual([
    'retention letters.expire letters past their retention',
    'retention letters.expire letters past their retention',
  ])
  expect((await ask('/metrics')).text).toContain('lazaret_dlq_expired_total{state="discarded"} 1')
  await server.close()
  expect(clock.pending).toBe(0)
})

it('E19: replays by itself only where it is told to', async () => {
  const { base, clock, store, billing } = await billedWorld()
  await base.bury(base.make.letter({ autoReplay: true }), base.make.letter())
  await base.ask('/healthz')
  await clock.advance(2 * 3_600_000)
  expect(billing.handled).toBe(0)
  const automaticReplay = { cron: '0 * * * *', batchSize: 5, maxAgeMs: DAY_MS }
  const { ask, server } = serverWorld({ stores: store, clock, automaticReplay })
  await ask('/healthz')
  await clock.advance(3_700_000)
  expect(billing.handled).toBe(1)
  await server.close()
  await base.server.close()
})

it('R3, B10: a server that needs approval sends nothing by itself before a person has approved', async () => {
  const { base, clock, store, billing, consumer } = await billedWorld()
  await base.bury(base.make.letter({ autoReplay: true }))
  const { ask, tell, server } = serverWorld({
    stores: store,
    clock,
    tokens: PEOPLE,
    needsApproval: true,
    automaticReplay: { cron: '0 * * * *', batchSize: 5, maxAgeMs: DAY_MS },
  })
  await ask('/healthz')
  await clock.advance(7_200_000)
  expect(billing.handled).toBe(0)
  const plans = await store.replays.list()
  expect(plans).toMatchObject([{ state: 'planned', needsApproval: true, createdBy: 'automatic replay' }])
  const approved = await tell(`/api/v1/replays/${plans[0]!.id}/approve`, {}, { token: secretOf('ola') })
  expect(approved.status).toBe(200)
  await clock.advance(7_200_000)
  expect(billing.handled).toBe(1)
  await server.close()
  await consumer.close()
  await base.server.close()
})

it('E19: of several servers one replays at a time that is due, so many as one may', async () => {
  const { base, clock, store } = await billedWorld()
  for (let n = 0; n < 6; n++) await base.bury(base.make.letter({ autoReplay: true }))
  const automaticReplay = { cron: '0 * * * *', batchSize: 2, maxAgeMs: DAY_MS }
  const servers = [1, 2, 3].map(() => serverWorld({ stores: store, clock, automaticReplay }))
  for (const { ask } of servers) await ask('/healthz')
  await clock.advance(3_700_000)
  expect((await store.deadLetters.stats()).byState).toEqual({ resolved: 2, dead: 4 })
  await clock.advance(3_600_000)
  expect((await store.deadLetters.stats()).byState).toEqual({ resolved: 4, dead: 2 })
  expect((await store.replays.list()).map(({ count }) => count)).toEqual([2, 2])
  for (const { server } of servers) await server.close()
})

it('F8: a server that changes nothing does nothing by itself', async () => {
  const base = serverWorld()
  const { ask } = serverWorld({
    stores: base.store,
    clock: base.clock,
    readOnly: true,
    retentionMs: 1,
    cleanup: { cron: '* * * * *' },
  })
  await base.bury(base.make.letter())
  await ask('/healthz')
  await base.clock.advance(120_000)
  expect((await base.store.deadLetters.stats()).count).toBe(1)
})
