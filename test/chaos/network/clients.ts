import { join } from 'node:path'
import { Pool } from 'pg'
import { kafka } from '../../../src/adapters/kafka/index.ts'
import { nats } from '../../../src/adapters/nats/index.ts'
import { openPostgres } from '../../../src/adapters/postgres/index.ts'
import { rabbitmq } from '../../../src/adapters/rabbitmq/index.ts'
import { redisLedger, redisStreams } from '../../../src/adapters/redis/index.ts'
import { sqliteLedger } from '../../../src/adapters/sqlite/index.ts'
import type { Broker } from '../../../src/ports/broker.ts'
import type { Ledger } from '../../../src/ports/ledger.ts'
import { FAST_DETECTION as FAST_RABBITMQ } from '../campaign/settings.ts'
import { FAST_DETECTION as FAST_KAFKA, PARTITIONS } from '../kafka/settings.ts'
import { FAST_DETECTION as FAST_NATS } from '../nats/settings.ts'
import { FAST_DETECTION as FAST_REDIS } from '../redis/plan.ts'
import type { BrokerName } from './plan.ts'

/** What a process needs of one kind of broker. */
export interface Client {
  readonly broker: Broker
  /**
   * Opens the ledger between the broker and the handler. Brokers that bring none have it in the folder, which all processes
   * use, whatever host they run on. Undefined if the handler itself writes to the ledger.
   */
  readonly ledger?: (folder: string) => Ledger
  /** The handler's effect in the ledger's own transaction. */
  readonly act?: (id: string) => Promise<void>
  /** What is left when the consumer has closed. */
  readonly close?: () => Promise<void>
}

const POSTGRES = { leaseMs: 2_000, maxPollMs: 200 } as const
const QUERY_MS = 3_000

export const CLIENTS: Readonly<Record<BrokerName, (url: string) => Client>> = {
  rabbitmq: url => ({ broker: rabbitmq({ url, ...FAST_RABBITMQ }), ledger: localLedger }),
  postgres: withOwnTransactions,
  redis: url => {
    const { timeoutMs, reconnectMaxMs } = FAST_REDIS
    return {
      broker: redisStreams({ url, ...FAST_REDIS }),
      ledger: () => redisLedger({ url, timeoutMs, reconnectMaxMs }),
    }
  },
  kafka: url => ({
    broker: kafka({ brokers: [url], partitions: PARTITIONS, ...FAST_KAFKA }),
    ledger: localLedger,
  }),
  nats: url => ({ broker: nats({ url, ...FAST_NATS, replicas: 1 }), ledger: localLedger }),
}

function localLedger(folder: string): Ledger {
  return sqliteLedger({ path: join(folder, 'ledger.db') })
}

/** An effect and the ledger's entry are one transaction. The table has no constraint that would refuse a second effect. */
function withOwnTransactions(url: string): Client {
  const pool = new Pool({
    connectionString: url,
    connectionTimeoutMillis: QUERY_MS,
    query_timeout: QUERY_MS,
    max: 10,
  })
  pool.on('error', () => {})
  pool.on('connect', client => client.on('error', () => {}))
  const store = openPostgres({ url, ...POSTGRES })
  const act = async (id: string) => {
    const tx = await pool.connect()
    try {
      await tx.query('begin')
      if (await store.ledger.record(tx, 'effects', id))
        await tx.query('insert into effects (event) values ($1)', [id])
      await tx.query('commit')
      tx.release()
    } catch (error) {
      tx.release(true)
      throw error
    }
  }
  const close = async () => {
    await store.close()
    await pool.end()
  }
  return { broker: store.broker, act, close }
}
