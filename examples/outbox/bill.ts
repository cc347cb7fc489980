// Charges each order once, however often this process is killed: npx node examples/outbox/bill.ts
import { createConsumer, ledgerName } from 'lazaret'
import { postgresLedger, postgresOutbox } from 'lazaret/postgres'
import { inTransaction, openDatabase } from './database.ts'

const CHANNEL = 'orders'
const HANDLER = 'billing'

interface Order {
  readonly orderId: number
  readonly total: number
}

const pool = await openDatabase()
const ledger = postgresLedger({ pool })

const billing = createConsumer<Order>({
  broker: postgresOutbox({ pool, leaseMs: Number(process.env['LEASE_MS'] ?? 30_000) }),
  channel: CHANNEL,
  name: HANDLER,
  async handle({ idempotencyKey, payload }) {
    await inTransaction(pool, async tx => {
      // The claim joins this transaction: the charge and the fact that it was made are committed together. A crash before
      // that leaves neither, and the event comes again. A crash after it leaves both, and the event comes again for nothing.
      if (!(await ledger.record(tx, ledgerName(CHANNEL, HANDLER), idempotencyKey))) return
      const insert = 'insert into charges (order_id, amount) values ($1, $2)'
      await tx.query(insert, [payload.orderId, payload.total])
    })
    process.stdout.write(`charged ${payload.orderId}\n`)
  },
})
await billing.start()
process.stdout.write('billing\n')
for (const signal of ['SIGTERM', 'SIGINT'] as const)
  process.once(signal, () => void billing.close().then(() => pool.end()))
