import { join } from 'node:path'
import { fileJournal, fileSpill, fileStore } from '../../../src/adapters/file/index.ts'
import { kafka } from '../../../src/adapters/kafka/index.ts'
import { memoryBroker } from '../../../src/adapters/memory/index.ts'
import { nats } from '../../../src/adapters/nats/index.ts'
import { openPostgres } from '../../../src/adapters/postgres/index.ts'
import { rabbitmq } from '../../../src/adapters/rabbitmq/index.ts'
import { openRedis, redisStreams } from '../../../src/adapters/redis/index.ts'
import { openSqlite } from '../../../src/adapters/sqlite/index.ts'
import type { Broker } from '../../../src/ports/broker.ts'
import type { Spill } from '../../../src/ports/dead-letters.ts'
import type { Journal } from '../../../src/ports/journal.ts'
import type { Store } from '../../../src/ports/store.ts'
import { FAST_DETECTION as FAST_RABBITMQ } from '../campaign/settings.ts'
import { FAST_DETECTION as FAST_KAFKA, PARTITIONS } from '../kafka/settings.ts'
import { FAST_DETECTION as FAST_NATS } from '../nats/settings.ts'
import { FAST_DETECTION as FAST_REDIS } from '../redis/plan.ts'
import type { StoreName } from './plan.ts'

/** What the process of a store works with. RabbitMQ, Kafka and NATS have SQLite for letters and ledger. */
export interface StoreUnderSoak {
  readonly broker: Broker
  readonly store: Store
  readonly journal: Journal
  readonly spill: Spill
}

export interface StorePlace {
  /** Of its server; empty for files. */
  readonly url: string
  /** Its files, if it has no server. The soak moves this folder away and back. */
  readonly data: string
  /** Of everything else. */
  readonly folder: string
  readonly retentionMs: number
}

type Parts = Pick<StoreUnderSoak, 'broker' | 'store'> & { readonly journal?: Journal }

const OPENERS: Readonly<Record<StoreName, (place: StorePlace) => Parts>> = {
  postgres({ url, retentionMs }) {
    const timing = { leaseMs: 5_000, maxPollMs: 500, ledgerRetentionMs: retentionMs }
    const store = openPostgres({ url, ...timing, delivered: 'delete' })
    return { broker: store.broker, store }
  },
  redis({ url, retentionMs }) {
    const { timeoutMs, reconnectMaxMs } = FAST_REDIS
    const store = openRedis({ url, timeoutMs, reconnectMaxMs, retentionMs, ledgerRetentionMs: retentionMs })
    return { broker: redisStreams({ url, ...FAST_REDIS, retentionMs }), store }
  },
  sqlite({ data, retentionMs }) {
    const store = openSqlite({ path: join(data, 'soak.db'), leaseMs: 5_000, ledgerRetentionMs: retentionMs })
    return { broker: store.broker, store, journal: store.journal }
  },
  file: ({ data, retentionMs }) => ({
    broker: memoryBroker(),
    // Small files, so that many are rewritten and deleted.
    store: fileStore({ dir: join(data, 'letters'), retentionMs, rotateBytes: 200_000 }),
    journal: fileJournal({ dir: join(data, 'journal'), rotateBytes: 200_000 }),
  }),
  rabbitmq: place => ({
    broker: rabbitmq({ url: place.url, queueType: 'quorum', ...FAST_RABBITMQ }),
    store: localStore(place),
  }),
  kafka: place => ({
    broker: kafka({ brokers: [place.url], partitions: PARTITIONS, ...FAST_KAFKA }),
    store: localStore(place),
  }),
  nats: place => ({
    broker: nats({ url: place.url, ...FAST_NATS, replicas: 1 }),
    store: localStore(place),
  }),
}

export function openStore(name: StoreName, place: StorePlace): StoreUnderSoak {
  const { folder } = place
  return {
    journal: fileJournal({ dir: join(folder, 'journal') }),
    ...OPENERS[name](place),
    spill: fileSpill({ dir: join(folder, 'spill') }),
  }
}

function localStore({ folder, retentionMs }: StorePlace): Store {
  return openSqlite({ path: join(folder, 'letters.db'), ledgerRetentionMs: retentionMs })
}
