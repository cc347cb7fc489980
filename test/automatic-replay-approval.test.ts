import { expect, it } from 'vitest'
import { createConsumer } from '../src/runtime/consumer/consumer.ts'
import { PEOPLE, secretOf, serverWorld } from './support/server-world.ts'

const HOUR_MS = 3_600_000

it('R3, B10: a server that needs approval sends nothing by itself before a person has approved', async () => {
  const base = serverWorld()
  const { clock, store } = base
  let handled = 0
  const consumer = createConsumer({
    broker: store.broker!,
    channel: 'orders',
    name: 'bill',
    deadLetters: store.deadLetters,
    clock,
    handle: () => void handled++,
  })
  await consumer.start()
  await base.bury(base.make.letter({ autoReplay: true }))
  const { ask, tell, server } = serverWorld({
    stores: store,
    clock,
    tokens: PEOPLE,
    needsApproval: true,
    automaticReplay: { cron: '0 * * * *', batchSize: 5, maxAgeMs: 24 * HOUR_MS },
  })
  await ask('/healthz')
  await clock.advance(2 * HOUR_MS)
  expect(handled).toBe(0)
  const plans = await store.replays.list()
  expect(plans).toMatchObject([{ state: 'planned', needsApproval: true, createdBy: 'automatic replay' }])
  const approved = await tell(`/api/v1/replays/${plans[0]!.id}/approve`, {}, { token: secretOf('ola') })
  expect(approved.status).toBe(200)
  await clock.advance(2 * HOUR_MS)
  expect(handled).toBe(1)
  await server.close()
  await consumer.close()
  await base.server.close()
})
