import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { withAdmin } from '../../../src/adapters/rabbitmq/admin.ts'
import { findKafka } from '../../services/kafka.ts'
import { findNats } from '../../services/nats.ts'
import { findPostgres } from '../../services/postgres.ts'
import { findRabbitmq } from '../../services/rabbitmq.ts'
import { findRedis } from '../../services/redis.ts'
import type { ServerNode } from '../../services/server-node.ts'
import { TestDatabase } from '../../support/postgres.ts'
import { SESSION_CONFIG } from '../kafka/settings.ts'
import { clusterOf } from '../nats/settings.ts'
import { bytesIn, stopTree, withoutFolder } from './files.ts'
import { CONSUMED, type Fault, type StoreName } from './plan.ts'

/** A store as the soak sees it from outside: what it breaks, and how large its files are. */
export interface ServerUnderSoak {
  readonly url: string
  /** The faults that the soak itself injects, for as long as `work` takes. The process of the store cuts its connections. */
  readonly faults: { readonly [F in Fault]?: (work: () => Promise<void>) => Promise<void> }
  /** Rejects or answers undefined while the server does not answer. */
  size(): Promise<number | undefined>
  close(): Promise<void>
}

/** `data` is the folder of a store without a server. */
export const SERVERS: Readonly<Record<StoreName, (data: string) => Promise<ServerUnderSoak>>> = {
  async postgres() {
    const service = await needed('Postgres', await findPostgres()).start()
    const node = service.node!
    const { url, pool } = await TestDatabase.migrated(service)
    await pool.end()
    const name = new URL(url).pathname.slice(1)
    return {
      url,
      faults: {
        kill: async work => {
          await node.crash()
          await work()
          await node.start()
        },
        hang: async work => await stopTree(await postmasterOf(node.folder), work),
      },
      async size() {
        // The log of the server is recycled by its own rules, so only the database counts.
        const [row] = await node.command(`select pg_database_size('${name}') as bytes`)
        return Number(row?.['bytes'])
      },
      close: () => service.close(),
    }
  },
  async redis() {
    // Small files, so that Redis rewrites its log often.
    const config = { 'auto-aof-rewrite-min-size': '1mb' }
    const { url, node, close } = await needed('Redis', await findRedis()).start(config)
    return onNode(node!, url, close)
  },
  sqlite: async data => ({
    ...(await onFiles(data)),
    faults: {
      kill: work => withoutFolder(data, work),
      hang: async work => {
        const database = new DatabaseSync(join(data, 'soak.db'))
        try {
          database.exec('pragma busy_timeout = 5000; begin immediate')
          await work()
          database.exec('rollback')
        } finally {
          database.close()
        }
      },
    },
  }),
  file: onFiles,
  async rabbitmq() {
    const { url, node, close } = await needed('RabbitMQ', await findRabbitmq()).start()
    await withAdmin({ url, queueType: 'quorum' }, admin => admin.declare(CONSUMED, CONSUMED))
    // The server of Debian 12 can forget who leads a quorum queue that was declared right before a kill.
    await node!.stop()
    await node!.start()
    return onNode(node!, url, close, 'data')
  },
  async kafka() {
    const started = await needed('Kafka', await findKafka()).start({ config: KAFKA_CONFIG })
    const [node] = started.nodes
    return onNode(node!, started.brokers[0]!, () => started.close(), 'data')
  },
  async nats() {
    // A single server that was killed has forgotten what it had not written to disk.
    const { url, nodes, close } = await needed('NATS', await findNats()).start(clusterOf('always', 1))
    return onNode(nodes[0]!, url, close, 'data')
  },
}

/**
 * Small segments and a short retention: a topic keeps what was handled until its segment is deleted. Kafka also deletes events
 * that were not read, so the retention is longer than any backlog of a slow machine.
 */
const KAFKA_CONFIG = {
  ...SESSION_CONFIG,
  'log.retention.ms': '1200000',
  'log.retention.check.interval.ms': '20000',
  'log.segment.bytes': '1048576',
  'log.roll.ms': '120000',
  'log.segment.delete.delay.ms': '5000',
  'offsets.topic.segment.bytes': '1048576',
  'log.cleaner.min.cleanable.ratio': '0.1',
  'metadata.max.idle.interval.ms': '0',
}

async function onFiles(data: string): Promise<ServerUnderSoak> {
  await mkdir(data, { recursive: true })
  return {
    url: '',
    faults: { kill: work => withoutFolder(data, work) },
    size: () => bytesIn(data),
    close: async () => {},
  }
}

/** `part` of the folder of the server has its data. */
function onNode(node: ServerNode, url: string, close: () => Promise<void>, part = ''): ServerUnderSoak {
  return {
    url,
    faults: {
      kill: async work => {
        await node.kill()
        await work()
        await node.start()
      },
      hang: async work => {
        node.freeze()
        await work().finally(() => node.thaw())
      },
    },
    size: () => bytesIn(join(node.folder, part)),
    close,
  }
}

async function postmasterOf(folder: string): Promise<number> {
  const [pid] = (await readFile(join(folder, 'data', 'postmaster.pid'), 'utf8')).split('\n')
  return Number(pid)
}

type Found<S> =
  | { readonly found: false; readonly why: string }
  | { readonly found: true; readonly isPrivate: boolean; start: S }

function needed<S>(kind: string, found: Found<S>): { readonly start: S } {
  if (!found.found) throw new Error(`the soak needs ${kind}: ${found.why}`)
  if (!found.isPrivate) throw new Error(`the soak kills its ${kind}, so it needs a private one`)
  return found
}
