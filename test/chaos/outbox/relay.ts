import { Pool } from 'pg'
import { openPostgres } from '../../../src/adapters/postgres/index.ts'
import type { LazaretEvent } from '../../../src/core/event/event.ts'
import { PermanentError } from '../../../src/core/failure/signals.ts'
import { fixed } from '../../../src/core/retry/fixed.ts'
import type { HandlerContext } from '../../../src/runtime/consumer/handler-context.ts'
import { createRelay } from '../../../src/runtime/relay/relay.ts'
import { writeLine } from '../../support/write-line.ts'
import { FREE, type Kind, LEASE_MS, ORDERED, RELAY } from './plan.ts'

// One of the relays of a campaign, in a process of its own. The receiver is a table, written in one transaction with
// the ledger's entry. The relay prints the events that the ledger refuses to stdout.
const [url = '', number = ''] = process.argv.slice(2)
const TRANSIENT_FAILURES = 2
const pool = new Pool({ connectionString: url, max: 8, connectionTimeoutMillis: 5_000 })
pool.on('error', () => {})
// A client that breaks while it is in use rejects the query of its user. Without this listener, the error event would
// still end the process.
pool.on('connect', client => client.on('error', () => {}))
const { broker, ledger } = openPostgres({ pool, leaseMs: LEASE_MS, maxPollMs: 200 })

interface Payload {
  readonly kind: Kind
  readonly n: number
}

async function take(event: LazaretEvent, { attempt, replay }: HandlerContext): Promise<void> {
  const { kind, n } = event.payload as Payload
  if (kind === 'transient' && attempt <= TRANSIENT_FAILURES)
    throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
  if (kind === 'permanent' || (kind === 'recoverable' && replay === 0))
    throw new PermanentError('the event can never succeed')
  const tx = await pool.connect()
  try {
    await tx.query('begin')
    const isFirst = await ledger.record(tx, RELAY, event.idempotencyKey)
    if (isFirst)
      await tx.query('insert into effects (event, channel, key, n, relay) values ($1, $2, $3, $4, $5)', [
        event.id,
        event.channel,
        event.key,
        n,
        number,
      ])
    await tx.query('commit')
    tx.release()
    if (!isFirst) writeLine('refused')
  } catch (error) {
    tx.release(true)
    throw error
  }
}

const relays = [ORDERED, FREE].map(channel =>
  createRelay({
    from: broker,
    channel,
    name: RELAY,
    to: take,
    ordering: channel === ORDERED ? 'by-key' : 'none',
    concurrency: 4,
    prefetch: 50,
    retry: { attempts: 20, backoff: fixed({ delayMs: 200 }) },
    // One event in ten fails, whatever happens to the others: that says nothing about the receiver.
    breaker: 'off',
  }),
)
for (const relay of relays) await relay.start()
writeLine('started')
process.on('SIGTERM', () => void Promise.all(relays.map(relay => relay.close())).then(() => pool.end()))
