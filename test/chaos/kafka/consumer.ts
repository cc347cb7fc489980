import { join } from 'node:path'
import * as client from '@platformatic/kafka'
import { kafka } from '../../../src/adapters/kafka/index.ts'
import { sqliteLedger } from '../../../src/adapters/sqlite/index.ts'
import { fixed } from '../../../src/core/retry/fixed.ts'
import { consume } from '../campaign/consume.ts'
import { CHANNEL, FAST_DETECTION, HANDLER } from './plan.ts'

// One of the consumers of a campaign, in a process of its own. SIGUSR2 cuts its connections: brokers name their own
// addresses, so that no proxy can do it.
const [brokers = '', ordering = 'none', folder = ''] = process.argv.slice(2)

const connections = new Set<client.Connection>()
class TrackedPool extends client.ConnectionPool {
  constructor(...args: ConstructorParameters<typeof client.ConnectionPool>) {
    super(...args)
    this.on('connect', ({ connection }) => connections.add(connection))
    this.on('disconnect', ({ connection }) => connections.delete(connection))
  }
}
process.on('SIGUSR2', () => {
  for (const connection of connections) connection.socket.resetAndDestroy()
})

// The number of a process says which one an effect came from, and whether that one was killed.
await consume(folder, String(process.pid), {
  broker: kafka({
    brokers: brokers.split(','),
    client: { ...client, ConnectionPool: TrackedPool },
    ...FAST_DETECTION,
  }),
  channel: CHANNEL,
  name: HANDLER,
  ordering: ordering as 'none' | 'by-key',
  prefetch: 50,
  retry: { attempts: 20, backoff: fixed({ delayMs: 150 }) },
  ledger: sqliteLedger({ path: join(folder, 'ledger.db') }),
  timeoutMs: 5_000,
  leaseMs: 8_000,
})
