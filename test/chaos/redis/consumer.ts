import { redisLedger, redisStreams } from '../../../src/adapters/redis/index.ts'
import { fixed } from '../../../src/core/retry/fixed.ts'
import { consume } from '../campaign/consume.ts'
import { CHANNEL, FAST_DETECTION } from './plan.ts'

// One of the consumers of a campaign, in a process of its own.
const [url = '', folder = '', life = '0'] = process.argv.slice(2)
const { timeoutMs, reconnectMaxMs } = FAST_DETECTION

await consume(folder, life, {
  broker: redisStreams({ url, ...FAST_DETECTION }),
  channel: CHANNEL,
  prefetch: 100,
  retry: { attempts: 20, backoff: fixed({ delayMs: 150 }) },
  ledger: redisLedger({ url, timeoutMs, reconnectMaxMs }),
  timeoutMs: 3_000,
  leaseMs: 4_000,
})
