import { appendFileSync } from 'node:fs'
import { rabbitmq } from '../../src/adapters/rabbitmq/index.ts'
import { sqliteLedger } from '../../src/adapters/sqlite/index.ts'
import { fixed } from '../../src/core/retry/fixed.ts'
import { createConsumer } from '../../src/runtime/consumer/consumer.ts'
import { writeLine } from '../support/write-line.ts'
import { FAST_DETECTION } from './campaign/settings.ts'
import { pause } from './campaign/wait.ts'

// A process that consumes in the order of keys and appends what it has handled to a file that it shares with others.
const [url = '', channel = '', queueType = 'quorum', file = '', ledger] = process.argv.slice(2)

const HANDLER_MS = 15

const consumer = createConsumer<{ n: number; kind: string }>({
  broker: rabbitmq({ url, queueType: queueType as 'quorum' | 'classic', ...FAST_DETECTION }),
  channel,
  ordering: 'by-key',
  concurrency: 5,
  prefetch: 10,
  breaker: 'off',
  ...(ledger !== undefined && { ledger: sqliteLedger({ path: ledger }), timeoutMs: 1_000, leaseMs: 1_500 }),
  retry: { attempts: 10, backoff: fixed({ delayMs: 150 }) },
  observer: { eventProcessed: ({ outcome }) => writeLine(outcome) },
  async handle({ key, payload: { n, kind } }, { attempt }) {
    if (kind === 'deadly at once') process.kill(process.pid, 'SIGKILL')
    await pause(HANDLER_MS)
    if (kind === 'deadly') process.kill(process.pid, 'SIGKILL')
    if (kind === 'fails once' && attempt === 1) throw new Error('try again')
    appendFileSync(file, `${key} ${n}\n`)
  },
})
await consumer.start()
writeLine('started')
process.on('SIGTERM', () => void consumer.close())
