// Carries the same orders on to RabbitMQ, those of a customer in order: npx node examples/outbox/relay.ts
import { createRelay } from 'lazaret'
import { postgresOutbox } from 'lazaret/postgres'
import { rabbitmq } from 'lazaret/rabbitmq'
import { openDatabase } from './database.ts'

const pool = await openDatabase()

const relay = createRelay({
  from: postgresOutbox({ pool, leaseMs: Number(process.env['LEASE_MS'] ?? 30_000) }),
  channel: 'orders',
  name: 'to-rabbitmq',
  to: rabbitmq({ url: process.env['RABBITMQ_URL'] ?? 'amqp://localhost' }),
  toChannel: process.env['TO_CHANNEL'] ?? 'shop.orders',
  ordering: 'by-key',
  observer: { letterSaved: ({ letter }) => process.stdout.write(`failed ${letter.event.id}\n`) },
})
await relay.start()
process.stdout.write('relaying\n')
for (const signal of ['SIGTERM', 'SIGINT'] as const)
  process.once(signal, () => void relay.close().then(() => pool.end()))
