import { join } from 'node:path'
import { sqliteLedger } from '../../../src/adapters/sqlite/index.ts'
import { fixed } from '../../../src/core/retry/fixed.ts'
import type { Broker } from '../../../src/ports/broker.ts'
import { consume } from '../campaign/consume.ts'
import { watchConnections } from '../campaign/cut-connections.ts'
import { CHANNEL, HANDLER } from './plan.ts'

/** One of the consumers of a campaign against a cluster, in a process of its own. SIGUSR2 cuts its connections. */
export async function consumeFrom(open: (address: string) => Broker): Promise<void> {
  const [address = '', ordering = 'none', folder = ''] = process.argv.slice(2)
  process.on('SIGUSR2', watchConnections())
  // The number of a process says which one an effect came from, and whether that one was killed.
  await consume(folder, String(process.pid), {
    broker: open(address),
    channel: CHANNEL,
    name: HANDLER,
    ordering: ordering as 'none' | 'by-key',
    prefetch: 50,
    retry: { attempts: 20, backoff: fixed({ delayMs: 150 }) },
    ledger: sqliteLedger({ path: join(folder, 'ledger.db') }),
    timeoutMs: 5_000,
    leaseMs: 8_000,
  })
}
