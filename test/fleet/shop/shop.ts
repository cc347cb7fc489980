import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { rabbitmq } from '../../../src/adapters/rabbitmq/index.ts'
import { redisStreams } from '../../../src/adapters/redis/index.ts'
import { TestTiming } from '../../../src/testing/conformance/harness.ts'
import { createFactory } from '../../../src/testing/factories.ts'
import { findPostgres, type PostgresService } from '../../services/postgres.ts'
import { findRabbitmq, type RabbitmqService } from '../../services/rabbitmq.ts'
import { findRedis, type RedisService } from '../../services/redis.ts'
import { expectFreshCommand } from '../../support/console-page.ts'
import { type Ended, runScript, type Started, startScript } from '../../support/lazaret-process.ts'
import { TestDatabase } from '../../support/postgres.ts'
import { ROOT } from '../../support/source.ts'
import { type ShopReceiver, shopReceiver } from './receiver.ts'
import { ORDERS, type ServiceKind, type ServiceSettings, STOCK } from './settings.ts'

/** The built command, as a package has it. */
const LAZARET = `"${process.execPath}" "${join(ROOT, 'dist/cli/main.js')}"`
const SERVICE = join(ROOT, 'test/fleet/shop/service.ts')
/** Processes report often, so that a test sees a change soon. */
const REPORT_EVERY_MS = 1_000

const make = createFactory()
export const timing = new TestTiming({ timeoutMs: 300_000 })

const found = [await findPostgres(), await findRabbitmq(), await findRedis()] as const

/** Why the shop cannot be opened here; undefined if it can. */
export const missingServer = found.find(each => !each.found)?.why

/** A process of the shop. */
export interface ShopProcess extends Started {
  /** Its id in the fleet. */
  readonly id: string
}

/** The servers of the shop, its processes, and the systems behind it. The test itself runs no part of Lazaret. */
export class Shop {
  readonly folder: string
  readonly database: TestDatabase
  readonly receiver: ShopReceiver
  readonly #servers: ShopServers
  readonly #processes: Started[] = []

  private constructor(folder: string, servers: ShopServers, database: TestDatabase, receiver: ShopReceiver) {
    this.folder = folder
    this.#servers = servers
    this.database = database
    this.receiver = receiver
  }

  /** Starts the servers that services of these kinds need. */
  static async open(...kinds: readonly ServiceKind[]): Promise<Shop> {
    const [postgres, amqp, redis] = found
    if (!postgres.found || !amqp.found || !redis.found) throw new Error(missingServer)
    expectFreshCommand()
    const folder = await mkdtemp(join(tmpdir(), 'lazaret-shop-'))
    const servers = {
      postgres: await postgres.start(),
      amqp: kinds.includes('orders') ? await amqp.start() : undefined,
      redis: kinds.includes('stock') ? await redis.start() : undefined,
    }
    return new Shop(folder, servers, await TestDatabase.migrated(servers.postgres), await shopReceiver())
  }

  /** The stores by the names that the server has for them. */
  get stores() {
    return { shop: this.database.url, stock: this.#servers.redis?.url ?? '' } as const
  }

  /** Starts a process, and resolves when it has joined the fleet. */
  async start(kind: ServiceKind, options: Partial<ServiceSettings> = {}): Promise<ShopProcess> {
    const { shop: postgres, stock: redis } = this.stores
    const settings: ServiceSettings = {
      ...{ kind, version: '1.0', folder: this.folder, receiver: this.receiver.url },
      ...{ postgres, redis, amqp: this.#servers.amqp?.url, reportEveryMs: REPORT_EVERY_MS },
      ...options,
    }
    const words = `"${process.execPath}" --no-warnings "${SERVICE}" '${JSON.stringify(settings)}'`
    const started = this.#keep(startScript(`exec ${words}`, this.folder))
    const [, id = ''] = await started.matches(/joined (\S+)\n/)
    return { ...started, id }
  }

  /** Starts `lazaret serve` on the stores. It has no `brokers:`, so every letter goes back through a living process. */
  async serve(): Promise<Started & { readonly url: string }> {
    const stores = Object.entries(this.stores).filter(([, url]) => url !== '')
    const config = `server: { stores: ${JSON.stringify(Object.fromEntries(stores))} }\n`
    await writeFile(join(this.folder, 'lazaret.yaml'), config)
    const started = this.#keep(startScript(`exec ${LAZARET} serve --port 0`, this.folder))
    const [, url = ''] = await started.matches(/Lazaret listens on (\S+)/)
    return { ...started, url }
  }

  /** Runs the command `lazaret` in a process of its own. */
  lazaret(words: string, store: string): Promise<Ended> {
    return runScript(`exec ${LAZARET} ${words} --store '${store}'`, this.folder)
  }

  /** Publishes events whose handler fails. Without a total the schema refuses them. */
  async publish(kind: 'orders' | 'stock', count: number, payload: object = { total: 1 }): Promise<string[]> {
    const { amqp, redis } = this.#servers
    const { channel } = kind === 'stock' ? STOCK : ORDERS
    const broker = kind === 'stock' ? redisStreams({ url: redis!.url }) : rabbitmq({ url: amqp!.url })
    const events = make.events(count, { channel, payload })
    await broker.publish(events)
    await broker.close()
    return events.map(({ id }) => id)
  }

  async close(): Promise<void> {
    for (const each of this.#processes) await end(each, 'SIGKILL')
    await this.receiver.close()
    await this.database.close()
    for (const server of Object.values(this.#servers)) await server?.close()
    await rm(this.folder, { recursive: true })
  }

  #keep(started: Started): Started {
    this.#processes.push(started)
    return started
  }
}

interface ShopServers {
  readonly postgres: PostgresService
  readonly amqp: RabbitmqService | undefined
  readonly redis: RedisService | undefined
}

/** Ends a process, and resolves when it is gone. */
export async function end(process: Started, signal: NodeJS.Signals): Promise<Ended> {
  try {
    process.signal(signal)
  } catch {
    // It has ended.
  }
  return await process.ended
}
