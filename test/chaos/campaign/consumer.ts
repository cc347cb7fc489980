import { join } from 'node:path'
import { rabbitmq } from '../../../src/adapters/rabbitmq/index.ts'
import { sqliteLedger } from '../../../src/adapters/sqlite/index.ts'
import { fixed } from '../../../src/core/retry/fixed.ts'
import { consume } from './consume.ts'
import { CHANNEL, FAST_DETECTION } from './settings.ts'

// The consumer of a campaign, in a process of its own.
const [url = '', queueType = 'quorum', folder = '', life = '0'] = process.argv.slice(2)

await consume(folder, life, {
  broker: rabbitmq({ url, queueType: queueType as 'quorum' | 'classic', ...FAST_DETECTION }),
  channel: CHANNEL,
  prefetch: 100,
  retry: { attempts: 10, backoff: fixed({ delayMs: 150 }) },
  ledger: sqliteLedger({ path: join(folder, 'ledger.db') }),
  timeoutMs: 3_000,
  leaseMs: 5_000,
})
