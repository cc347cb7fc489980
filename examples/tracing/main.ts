import { createConsumer, createEvent, tracedBroker } from 'lazaret'
import { memoryBroker, memoryDeadLetters } from 'lazaret/memory'
import { provider, tracing } from './tracing.ts'

const broker = tracedBroker(memoryBroker(), tracing)
const { promise: billed, resolve } = Promise.withResolvers<void>()

const orders = createConsumer({
  broker,
  channel: 'orders',
  deadLetters: memoryDeadLetters(),
  tracing,
  // Spans that begin in here are part of the attempt.
  handle: async () => resolve(),
})

await orders.start()
await broker.publish([createEvent({ channel: 'orders', type: 'order.placed' })])
await billed
await orders.close()
await provider.shutdown()
