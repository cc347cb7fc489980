// A process that consumes a channel until it is told to stop, and says which events it has handled. ProcessReport that it is
// `broken`, it fails on every one.
import { openSqlite } from '../../src/adapters/sqlite/index.ts'
import { createConsumer } from '../../src/runtime/consumer/consumer.ts'
import { writeLine } from '../support/write-line.ts'

const [path = '', mode = 'mended'] = process.argv.slice(2)
const store = openSqlite({ path, maxPollMs: 10 })
const consumer = createConsumer({
  broker: store.broker,
  deadLetters: store.deadLetters,
  ledger: store.ledger,
  channel: 'orders',
  name: 'bill',
  concurrency: 50,
  breaker: 'off',
  retry: { attempts: 1 },
  async handle(event) {
    if (mode === 'broken') throw new Error('the release is broken')
    writeLine(`handled ${event.id}`)
  },
})
process.on('SIGTERM', () => {
  consumer.close().then(() => store.close(), process.exit)
})
await consumer.start()
writeLine('started')
