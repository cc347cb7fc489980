import { kafka } from '../../src/adapters/kafka/index.ts'
import { createConsumer } from '../../src/runtime/consumer/consumer.ts'

// A process of its own that consumes: told by its arguments where, it tells on stdout what it has handled. One kind of
// event takes it down at once, as a bug in native code or the end of memory would.
const [brokers = '', channel = '', ordering = 'none', attempts = '5'] = process.argv.slice(2)

const consumer = createConsumer({
  broker: kafka({ brokers: brokers.split(','), heartbeatMs: 200 }),
  channel,
  name: 'bill',
  concurrency: 5,
  prefetch: 20,
  ordering: ordering as 'none' | 'by-key',
  retry: { attempts: Number(attempts) },
  observer: {
    eventProcessed: ({ outcome }) => {
      if (outcome === 'dead') process.stdout.write('gave up\n')
    },
  },
  handle: event => {
    if (event.type === 'deadly') process.kill(process.pid, 'SIGKILL')
    process.stdout.write(`${event.id}\n`)
  },
})
await consumer.start()
process.stdout.write('started\n')
process.on('SIGTERM', () => void consumer.close())
