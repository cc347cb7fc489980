import { kafka } from '../../src/adapters/kafka/index.ts'
import { createConsumer } from '../../src/index.ts'

// A process that handles the events of a channel, and writes a line for the first of them and for every ten thousand.

const [brokers, channel] = process.argv.slice(2) as [string, string]
const EVERY = 10_000
let handled = 0

const consumer = createConsumer({
  broker: kafka({ brokers: brokers.split(','), from: 'earliest' }),
  channel,
  concurrency: 100,
  handle: async () => {
    if (handled++ % EVERY === 0) process.stdout.write(`${handled - 1}\n`)
  },
})
await consumer.start()
