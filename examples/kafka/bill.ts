// Bills the orders of a Kafka topic, each once: npx node examples/kafka/bill.ts
import { createConsumer, exponential, PermanentError } from 'lazaret'
import { kafka } from 'lazaret/kafka'
import { openSqlite } from 'lazaret/sqlite'

interface Order {
  readonly orderId: number
  readonly total: number
}

const store = openSqlite({ path: process.env['STORE'] ?? 'billing.db' })
const highest = Number(process.env['HIGHEST_TOTAL'] ?? 100)

const orders = createConsumer({
  broker: kafka({ brokers: (process.env['KAFKA_BROKERS'] ?? 'localhost:9092').split(','), from: 'earliest' }),
  channel: process.env['CHANNEL'] ?? 'orders',
  name: 'bill',
  deadLetters: store.deadLetters,
  ledger: store.ledger,
  retry: { attempts: 5, backoff: exponential({ baseMs: 1_000, maxMs: 60_000 }) },
  observer: { letterSaved: ({ letter }) => process.stdout.write(`refused ${letter.event.key}\n`) },
  async handle(event) {
    const { orderId, total } = event.payload as Order
    if (total > highest)
      throw new PermanentError(`order ${orderId}: ${total} is over the limit of ${highest}`)
    process.stdout.write(`billed ${orderId}\n`)
  },
})
await orders.start()
process.stdout.write('billing\n')
for (const signal of ['SIGTERM', 'SIGINT'] as const)
  process.once(signal, () => void orders.close().then(() => store.close()))
