import { join } from 'node:path'
import * as client from '@platformatic/kafka'
import { kafka } from '../../../src/adapters/kafka/index.ts'
import { sqliteLedger } from '../../../src/adapters/sqlite/index.ts'
import { PermanentError } from '../../../src/core/failure/signals.ts'
import { fixed } from '../../../src/core/retry/fixed.ts'
import { systemClock } from '../../../src/ports/clock.ts'
import { createConsumer } from '../../../src/runtime/consumer/consumer.ts'
import { writeLine } from '../../support/write-line.ts'
import { Effects } from '../campaign/effects.ts'
import { CHANNEL, FAST_DETECTION, HANDLER, type Kind } from './plan.ts'

// One of the consumers of a campaign, in a process of its own. What it did is in its database; what became of each delivery
// it tells on stdout. SIGUSR2 cuts its connections: brokers name their own addresses, so that no proxy can do it.
const [brokers = '', ordering = 'none', folder = '', life = '0'] = process.argv.slice(2)
const effects = new Effects(join(folder, 'effects.db'))
const HANDLER_MS = 2
const TRANSIENT_FAILURES = 2

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

const consumer = createConsumer<{ kind: Kind }>({
  broker: kafka({
    brokers: brokers.split(','),
    client: { ...client, ConnectionPool: TrackedPool },
    ...FAST_DETECTION,
  }),
  channel: CHANNEL,
  name: HANDLER,
  ordering: ordering as 'none' | 'by-key',
  concurrency: 20,
  prefetch: 50,
  breaker: 'off',
  retry: { attempts: 20, backoff: fixed({ delayMs: 150 }) },
  ledger: sqliteLedger({ path: join(folder, 'ledger.db') }),
  timeoutMs: 5_000,
  leaseMs: 8_000,
  observer: { eventProcessed: ({ outcome }) => writeLine(outcome) },
  async handle({ id, payload: { kind } }, { attempt }) {
    await new Promise<void>(resolve => systemClock.schedule(HANDLER_MS, resolve))
    if (kind === 'transient' && attempt <= TRANSIENT_FAILURES)
      throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
    if (kind === 'permanent') throw new PermanentError('the event can never succeed')
    effects.happen(id, Number(life))
  },
})
await consumer.start()
writeLine('started')
process.on('SIGTERM', () => void consumer.close().then(() => effects.close()))
