import { join } from 'node:path'
import { sqliteLedger } from '../../../src/adapters/sqlite/index.ts'
import { PermanentError } from '../../../src/core/failure/signals.ts'
import { exponential } from '../../../src/core/retry/exponential.ts'
import { systemClock } from '../../../src/ports/clock.ts'
import { createConsumer } from '../../../src/runtime/consumer/consumer.ts'
import { sleep } from '../../../src/runtime/sleep.ts'
import { writeLine } from '../../support/write-line.ts'
import { placeAt } from './broker-under-test.ts'
import { HandlerRuns } from './handler-runs.ts'
import { ATTEMPTS, CHANNEL, GRACE_MS, type Kind, LATE_MS, LEASE_MS, TAKES_MS, TIMEOUT_MS } from './plan.ts'

// One of the consumers of a campaign, in a process of its own. Its runs are in its database; it tells on stdout how far it is
// and what became of each delivery.
const [where = '', folder = '', index = '', life = ''] = process.argv.slice(2)
const place = placeAt(where)
const runs = new HandlerRuns(join(folder, 'runs.db'))
const TRANSIENT_FAILURES = 2
/** A timer may fire a moment early. */
const EARLY_MS = 5
let graceEndsAt = Number.POSITIVE_INFINITY

const consumer = createConsumer<{ kind: Kind }>({
  broker: place.open(),
  deadLetters: place.openLetters(),
  channel: CHANNEL,
  concurrency: 5,
  prefetch: 20,
  breaker: 'off',
  // Events that fail in the same way each time use up all their attempts, so that the attempts can be counted.
  poison: 'off',
  // Some retries wait in process, others in the broker.
  retry: { attempts: ATTEMPTS, backoff: exponential({ baseMs: 60, maxMs: 300, jitter: 'none' }) },
  ledger: sqliteLedger({ path: join(folder, 'ledger.db') }),
  graceMs: GRACE_MS,
  timeoutMs: TIMEOUT_MS,
  lateMs: LATE_MS,
  leaseMs: LEASE_MS,
  observer: { eventProcessed: ({ outcome }) => writeLine(outcome) },
  async handle({ id, payload: { kind } }, { attempt, signal }) {
    const run = runs.begin(id, `${index}.${life}`)
    try {
      await sleep(systemClock, takesMs(id, kind), kind === 'slow' ? signal : undefined)
      if (kind === 'transient' && attempt <= TRANSIENT_FAILURES)
        throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
      if (kind === 'permanent') throw new PermanentError('the event can never succeed')
      if (kind === 'failing') throw new Error(`attempt ${attempt} failed`)
      runs.end(run, true, isGraceOver())
    } catch (error) {
      runs.end(run, false, isGraceOver())
      throw error
    }
  },
})

process.on('SIGTERM', () => {
  writeLine('closing')
  graceEndsAt = Math.min(graceEndsAt, systemClock.now() + GRACE_MS - EARLY_MS)
  // As services do it: what has outlived the grace time ends with the process.
  void consumer.close().then(() => process.exit())
})
writeLine('starting')
await consumer.start()
writeLine('started')

function isGraceOver(): boolean {
  return systemClock.now() >= graceEndsAt
}

/** The same for an event each time. */
function takesMs(id: string, kind: Kind): number {
  const most = TAKES_MS[kind]
  return kind === 'valid' ? Math.ceil((Number.parseInt(id.slice(-4), 16) / 0xffff) * most) : most
}
