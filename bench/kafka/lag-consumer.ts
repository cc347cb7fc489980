import { kafka } from '../../src/adapters/kafka/index.ts'
import { createConsumer } from '../../src/index.ts'

// A process that handles the events of a channel, and writes a line when its program is loaded, for the first event and after every
// so many. It handles no more than a limit.

const [brokers, channel, every, limit] = process.argv.slice(2) as [string, string, string, string]
const never = new Promise<void>(() => {})
let handled = 0
process.stdout.write('loaded\n')

const consumer = createConsumer({
  broker: kafka({ brokers: brokers.split(','), from: 'earliest' }),
  channel,
  concurrency: 100,
  handle: async () => {
    if (handled > Number(limit)) await never
    if (handled++ % Number(every) === 0) process.stdout.write(`${handled - 1}\n`)
  },
})
await consumer.start()
