// A process that consumes a channel of an outbox in order of its keys until it is killed. Each event has one effect,
// recorded in the transaction that makes it; one in ten attempts fails. It says when an effect is made.

import { createPool } from '../../src/adapters/postgres/connection/pool.ts'
import { connectPostgres } from '../../src/adapters/postgres/index.ts'
import { fixed } from '../../src/core/retry/fixed.ts'
import { systemRandom } from '../../src/ports/clock.ts'
import { createConsumer } from '../../src/runtime/consumer/consumer.ts'
import { writeLine } from '../support/write-line.ts'

const [url = ''] = process.argv.slice(2)
const store = await connectPostgres(url, { leaseMs: 300, maxPollMs: 50 })
const pool = await createPool(url)

const consumer = createConsumer({
  broker: store.broker,
  channel: 'orders',
  name: 'bill',
  ordering: 'by-key',
  concurrency: 4,
  breaker: 'off',
  // Every kill would count against the events that were being handled.
  poison: 'off',
  retry: { attempts: 1_000, backoff: fixed({ delayMs: 5 }) },
  async handle({ id, key, idempotencyKey }) {
    if (systemRandom() < 0.1) throw new Error('now and then')
    const tx = await pool.connect()
    try {
      await tx.query('begin')
      if (await store.ledger.record(tx, 'bill', idempotencyKey))
        await tx.query('insert into effects (key, event) values ($1, $2)', [key, id])
      await tx.query('commit')
      tx.release()
    } catch (error) {
      tx.release(true)
      throw error
    }
    writeLine(`effect ${id}`)
  },
})
await consumer.start()
