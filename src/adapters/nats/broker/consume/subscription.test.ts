import { expect, it } from 'vitest'
import { createSubscriptionWorld } from '../../../../../test/support/fake-nats-subscription.ts'

it('E21: a suspect whose note is being read when the subscription closes is given back at once', async () => {
  const { clock, stream, server, sent, deliver, deliveries, subscription } = await createSubscriptionWorld()
  const { promise, resolve } = Promise.withResolvers<void>()
  server.answered = promise
  stream.store(1)
  deliver(1, 2)
  const closing = subscription.close()
  await clock.advance(20_000)
  await closing
  expect(sent.at(-1)).toBe('-NAK 1')
  resolve()
  await clock.advance(1)
  expect(deliveries).toEqual([])
})

const MINUTE_MS = 60_000

it('B8: a retry whose request to wait was lost is not taken for one whose consumer crashed', async () => {
  const { clock, stream, sent, published, deliver, deliverRetry, deliveries, subscription } =
    await createSubscriptionWorld()
  stream.store(1)
  deliver(1)
  const retry = { outcome: 'retry', notBefore: clock.now() + MINUTE_MS, ended: [] } as const
  await subscription.settle(deliveries[0]!, retry)
  const retries = () => published.filter(({ subject }) => subject.startsWith('lazaret.retry.'))
  const [first] = retries()
  deliverRetry(first!, 1, 1)
  expect(sent.at(-1)).toMatch(/^-NAK .* 1$/)
  await clock.advance(MINUTE_MS / 2)
  deliverRetry(first!, 1, 2)
  await clock.advance(0)
  expect(sent.at(-1)).toBe('+ACK 1')
  const [, second] = retries()
  deliverRetry(second!, 2, 1)
  expect(sent.at(-1)).toBe(`-NAK {"delay": ${(MINUTE_MS / 2) * 1_000_000}} 2`)
  await clock.advance(MINUTE_MS / 2)
  deliverRetry(second!, 2, 2)
  expect(deliveries).toHaveLength(2)
  await subscription.begin(deliveries[1]!, [])
  expect(published.filter(({ subject }) => subject.includes('.note.'))).toEqual([])
})

it('A2: a retry without room for its attempts keeps its time although the request to wait was lost', async () => {
  const { clock, stream, server, sent, deliver, deliveries, subscription } = await createSubscriptionWorld()
  server.hasRoom = false
  stream.store(1)
  deliver(1)
  const retry = { outcome: 'retry', notBefore: clock.now() + MINUTE_MS, ended: [] } as const
  await subscription.settle(deliveries[0]!, retry)
  await clock.advance(MINUTE_MS / 2)
  deliver(1, 2)
  await clock.advance(0)
  expect(deliveries).toHaveLength(1)
  expect(sent.at(-1)).toBe(`-NAK {"delay": ${(MINUTE_MS / 2) * 1_000_000}} 1`)
  await clock.advance(MINUTE_MS / 2)
  deliver(1, 3)
  await clock.advance(0)
  expect(deliveries).toHaveLength(2)
})
