// Bills the orders of a NATS stream, each once: npx node examples/nats/bill.ts
import { createConsumer, exponential, PermanentError } from 'lazaret'
import { nats } from 'lazaret/nats'
import { openSqlite } from 'lazaret/sqlite'

interface Order {
  readonly orderId: number
  readonly total: number
}

const store = openSqlite({ path: process.env['STORE'] ?? 'billing.db' })
const highest = Number(process.env['HIGHEST_TOTAL'] ?? 100)

const orders = createConsumer({
  broker: nats({ url: process.env['NATS_URL'] ?? 'nats://localhost:4222', ackWaitMs: 5_000 }),
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
