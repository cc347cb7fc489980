import { afterEach, expect, it } from 'vitest'
import { createConsumer } from '../../src/runtime/consumer/consumer.ts'
import { serverWorld } from '../support/server-world.ts'
import { type TracingWorld, tracingWorld } from '../support/tracing-world.ts'

const FIRST_LIFE = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' }

let tracing: TracingWorld
afterEach(() => tracing.close())

it('E20, B12: a replay that the server runs is a new trace, which links to the first cycle of the event', async () => {
  tracing = await tracingWorld()
  const shop = serverWorld({ tracing: tracing.tracing })
  const { store, clock, make } = shop
  const consumer = createConsumer({
    broker: store.broker!,
    channel: 'orders',
    name: 'bill',
    deadLetters: store.deadLetters,
    clock,
    tracing: tracing.tracing,
    handle: () => {},
  })
  await consumer.start()
  const headers = { traceparent: `00-${FIRST_LIFE.traceId}-${FIRST_LIFE.spanId}-01` }
  const event = make.event({ headers })
  const [letter] = await shop.bury(make.letter({ event }))
  const { body: plan } = await shop.tell('/api/v1/replays', { ids: [letter!.id], reason: 'mended' })
  await shop.tell(`/api/v1/replays/${plan.id}/start`, {})
  await clock.advance(3_000)
  expect((await shop.ask(`/api/v1/replays/${plan.id}`)).body).toMatchObject({ counts: { recovered: 1 } })
  await consumer.close()
  await shop.server.close()

  const spans = await tracing.spans()
  const send = spans.find(({ name }) => name === 'send orders')!
  const attempt = spans.find(({ name }) => name === 'process orders')!
  expect(spans).toHaveLength(2)
  expect([send.parentSpanId, send.links]).toEqual(['', [FIRST_LIFE]])
  expect([attempt.parentSpanId, attempt.traceId, attempt.links]).toEqual([
    send.spanId,
    send.traceId,
    [FIRST_LIFE],
  ])
  expect(send.traceId).not.toBe(FIRST_LIFE.traceId)
  for (const { attributes } of [send, attempt])
    expect(attributes).toMatchObject({ 'lazaret.replay.id': plan.id, 'lazaret.dead_letter.id': letter!.id })
})
