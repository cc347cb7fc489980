// Places orders: npx node examples/outbox/order.ts 10
// Each order and the event that tells of it are one transaction: there is never one without the other.
import { postgresOutbox } from 'lazaret/postgres'
import { inTransaction, openDatabase } from './database.ts'

const count = Number(process.argv[2] ?? 1)
const pool = await openDatabase()
const outbox = postgresOutbox({ pool })

for (let n = 1; n <= count; n++)
  await inTransaction(pool, async tx => {
    const order = { customer: `customer-${n % 3}`, total: n * 100 }
    const insert = 'insert into orders (customer, total) values ($1, $2) returning id::int'
    const { rows } = await tx.query<{ id: number }>(insert, [order.customer, order.total])
    await outbox.enqueue(tx, {
      channel: 'orders',
      type: 'order.placed',
      key: order.customer,
      payload: { orderId: rows[0]!.id, total: order.total },
    })
  })

process.stdout.write(`${count} orders placed\n`)
await outbox.close()
await pool.end()
