import { join } from 'node:path'
import { redisLedger, redisStreams } from '../../../src/adapters/redis/index.ts'
import { PermanentError } from '../../../src/core/failure/signals.ts'
import { fixed } from '../../../src/core/retry/fixed.ts'
import { systemClock } from '../../../src/ports/clock.ts'
import { createConsumer } from '../../../src/runtime/consumer/consumer.ts'
import { writeLine } from '../../support/write-line.ts'
import { Effects } from '../campaign/effects.ts'
import { CHANNEL, FAST_DETECTION, type Kind } from './plan.ts'

// One of the consumers of a campaign, in a process of its own. What it did is in its database; what became of each delivery
// it tells on stdout.
const [url = '', folder = '', life = '0'] = process.argv.slice(2)
const effects = new Effects(join(folder, 'effects.db'))
const { timeoutMs, reconnectMaxMs } = FAST_DETECTION
const HANDLER_MS = 2
const TRANSIENT_FAILURES = 2

const consumer = createConsumer<{ kind: Kind }>({
  broker: redisStreams({ url, ...FAST_DETECTION }),
  channel: CHANNEL,
  concurrency: 20,
  prefetch: 100,
  breaker: 'off',
  retry: { attempts: 20, backoff: fixed({ delayMs: 150 }) },
  ledger: redisLedger({ url, timeoutMs, reconnectMaxMs }),
  timeoutMs: 3_000,
  leaseMs: 4_000,
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
