import { join } from 'node:path'
import { rabbitmq } from '../../../src/adapters/rabbitmq/index.ts'
import { sqliteLedger } from '../../../src/adapters/sqlite/index.ts'
import { PermanentError, TransientError } from '../../../src/core/failure/signals.ts'
import { fixed } from '../../../src/core/retry/fixed.ts'
import { systemClock } from '../../../src/ports/clock.ts'
import { createConsumer } from '../../../src/runtime/consumer/consumer.ts'
import { writeLine } from '../../support/write-line.ts'
import { Effects } from './effects.ts'
import type { Kind } from './plan.ts'
import { CHANNEL, FAST_DETECTION } from './settings.ts'

// The consumer of a campaign, in a process of its own. What it did is in its databases; what became of each delivery it
// tells on stdout.
const [url = '', queueType = 'quorum', folder = '', life = '0'] = process.argv.slice(2)
const effects = new Effects(join(folder, 'effects.db'))
const HANDLER_MS = 2
const TRANSIENT_FAILURES = 2

const consumer = createConsumer<{ kind: Kind }>({
  broker: rabbitmq({ url, queueType: queueType as 'quorum' | 'classic', ...FAST_DETECTION }),
  channel: CHANNEL,
  concurrency: 20,
  prefetch: 100,
  breaker: 'off',
  retry: { attempts: 10, backoff: fixed({ delayMs: 150 }) },
  ledger: sqliteLedger({ path: join(folder, 'ledger.db') }),
  timeoutMs: 3_000,
  leaseMs: 5_000,
  observer: { eventProcessed: ({ outcome }) => writeLine(outcome) },
  async handle({ id, payload: { kind } }, { attempt }) {
    await new Promise<void>(resolve => systemClock.schedule(HANDLER_MS, resolve))
    if (kind === 'transient' && attempt <= TRANSIENT_FAILURES)
      throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
    if (kind === 'permanent') throw new PermanentError('the event can never succeed')
    if (kind === 'poison')
      throw new TransientError('the event fails in the same way at each attempt', { category: 'business' })
    effects.happen(id, Number(life))
  },
})
await consumer.start()
writeLine('started')
process.on('SIGTERM', () => void consumer.close().then(() => effects.close()))
