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
