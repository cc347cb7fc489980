import { rabbitmq } from '../../src/adapters/rabbitmq/index.ts'
import { createConsumer } from '../../src/runtime/consumer/consumer.ts'

// A process of its own that consumes: told by its arguments where, it tells on stdout what it has handled. One kind of
// event takes it down at once, as a bug in native code or the end of memory would.
const [url = '', channel = '', queueType = 'quorum', attempts = '5'] = process.argv.slice(2)

const consumer = createConsumer({
  broker: rabbitmq({ url, queueType: queueType as 'quorum' | 'classic' }),
  channel,
  concurrency: 5,
  prefetch: 20,
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
