import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Random } from '../../../src/core/random.ts'
import { systemClock } from '../../../src/ports/clock.ts'
import { seededRandom } from '../../../src/testing/seeded-random.ts'
import { readJournals } from '../../fleet/shop/journal.ts'
import { type ShopReceiver, shopReceiver } from '../../fleet/shop/receiver.ts'
import { CALM_FILE, ORDERS, type ServiceSettings } from '../../fleet/shop/settings.ts'
import { freePorts } from '../../services/free-ports.ts'
import type { PostgresService } from '../../services/postgres.ts'
import type { PostgresNode } from '../../services/postgres-node.ts'
import { TestDatabase } from '../../support/postgres.ts'
import { drawFaultTimes } from '../campaign/draw.ts'
import { withTempFolder } from '../campaign/folder.ts'
import { RestartingProcess } from '../campaign/restarting-process.ts'
import { until } from '../campaign/wait.ts'
import { collectFindings, countOpen, countTaken, type Findings, readDeliveries } from './count.ts'
import { Operator, TOKENS } from './operator.ts'
import type { CampaignOptions, Fault, Life } from './plan.ts'
import { Producer } from './producer.ts'
import { violationsOf } from './rules.ts'
import { describeSentAgain, findSentAgain } from './sent-again.ts'

const SERVICE = fileURLToPath(new URL('../../fleet/shop/service.ts', import.meta.url))
const SERVER = fileURLToPath(new URL('server.ts', import.meta.url))
const STALL_MS = 400_000
/** Short, so that a killed process is gone soon. */
const REPORT_EVERY_MS = 1_000
/** As `joinFleet()` has it. */
const LEASE_MS = 3 * REPORT_EVERY_MS
const DELIVERIES_FILE = 'deliveries.json'
const TRACKS_EVERY_MS = 10_000

export interface CampaignResult {
  readonly options: CampaignOptions
  readonly findings: Findings
  readonly tookMs: number
  readonly killed: { readonly services: number; readonly servers: number }
  /** Calls of the people that a server refused or did not answer. */
  readonly refusals: number
  /** Who sent a letter again, when and why, and the folder that is kept if a promise is broken. */
  readonly evidence: readonly string[]
}

/** Letters come and are replayed, people command, processes and the store die; then it is counted what became of each. */
export async function runCampaign(
  options: CampaignOptions,
  postgres: PostgresService,
  amqp: string,
  tell: (line: string) => void = () => {},
): Promise<CampaignResult> {
  const database = await TestDatabase.migrated(postgres)
  const receiver = await shopReceiver()
  const ports = await freePorts(options.servers)
  try {
    return await withTempFolder(async folder => {
      const campaign = new Campaign(options, {
        node: postgres.node!,
        database,
        receiver,
        amqp,
        folder,
        ports,
      })
      try {
        return await campaign.run(tell)
      } finally {
        await campaign.close()
      }
    }, isBroken)
  } finally {
    await receiver.close()
    await database.close()
  }
}

function isBroken(result: CampaignResult): boolean {
  return violationsOf(result).length > 0
}

interface CampaignWorld {
  readonly node: PostgresNode
  readonly database: TestDatabase
  readonly receiver: ShopReceiver
  readonly amqp: string
  readonly folder: string
  readonly ports: readonly number[]
}

interface Member {
  readonly kind: Life['kind']
  readonly process: RestartingProcess
}

class Campaign {
  readonly #options: CampaignOptions
  readonly #world: CampaignWorld
  readonly #members: readonly Member[]
  readonly #operator: Operator
  readonly #producer: Producer
  readonly #random: Random
  readonly #lives: Life[] = []
  readonly #restarts: number[] = []

  constructor(options: CampaignOptions, world: CampaignWorld) {
    const { seed, services } = options
    const { amqp, folder, ports, receiver, database } = world
    this.#options = options
    this.#world = world
    const settings = { folder, receiver: receiver.url, postgres: database.url, amqp, version: '1.0' }
    const serviceOf = (kind: 'orders' | 'events'): Member => {
      const own: ServiceSettings = {
        ...{ ...settings, kind, reportEveryMs: REPORT_EVERY_MS, tracksEveryMs: TRACKS_EVERY_MS },
      }
      return { kind, process: new RestartingProcess(SERVICE, JSON.stringify(own)) }
    }
    const serverOf = (port: number): Member => {
      const log = join(folder, `server-${port}.log`)
      return {
        kind: 'server',
        process: new RestartingProcess(SERVER, this.#config, String(port), log),
      }
    }
    this.#members = [
      ...Array.from({ length: services }, (_, n) => serviceOf(n % 2 === 0 ? 'orders' : 'events')),
      ...ports.map(serverOf),
    ]
    const urls = ports.map(port => `http://127.0.0.1:${port}`)
    this.#operator = new Operator(urls, database.url, folder, seededRandom(seed + 2))
    this.#producer = new Producer(amqp, seed + 3, () => receiver.taken(ORDERS.handler).size)
    this.#random = seededRandom(seed + 4)
  }

  async run(tell: (line: string) => void): Promise<CampaignResult> {
    const { database, receiver, folder } = this.#world
    const config = { store: database.url, server: { tokens: TOKENS } }
    await writeFile(this.#config, JSON.stringify(config))
    await Promise.all(this.#members.map(({ process }) => process.begin()))
    const startedAt = systemClock.now()
    const taken = () => countTaken(receiver.taken)
    this.#producer.start()
    this.#operator.start()
    for (const { fault, at } of drawFaultTimes(this.#options, this.#options.faults)) {
      await until(
        () => taken() >= at,
        () => `${at} letters are recovered`,
        STALL_MS,
      )
      tell(`${taken()} recovered: ${fault}${await this.#inject(fault)}`)
    }
    tell('no more faults; waiting until every letter is recovered')
    await this.#producer.stop()
    await writeFile(join(folder, CALM_FILE), '')
    await this.#operator.stop()
    await this.#settle()
    const tookMs = systemClock.now() - startedAt
    await Promise.all(this.#members.map(({ process }) => process.end()))
    const killed = (isServer: boolean) =>
      this.#lives.filter(({ kind }) => (kind === 'server') === isServer).length
    const evidence = {
      ...{ taken: receiver.taken, lives: this.#lives, restarts: this.#restarts },
      ...{ confirmedOrders: this.#producer.confirmed, journal: readJournals(folder), leaseMs: LEASE_MS },
      ...{ commands: this.#operator.commands, replays: this.#operator.replays },
    }
    const findings = await collectFindings(database.pool, evidence)
    const told = findSentAgain(evidence).flatMap(found => describeSentAgain(found, evidence))
    const isKept = violationsOf({ findings }).length > 0
    if (isKept) await writeFile(join(folder, DELIVERIES_FILE), await readDeliveries(database.pool))
    return {
      options: this.#options,
      findings,
      evidence: isKept ? [...told, `the journals, logs and deliveries are in ${folder}`] : told,
      tookMs,
      killed: { services: killed(false), servers: killed(true) },
      refusals: this.#operator.refusals,
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#members.map(({ process }) => process.end('SIGKILL')))
  }

  get #config(): string {
    return join(this.#world.folder, 'lazaret.yaml')
  }

  /** Returns what was hit. */
  async #inject(fault: Fault): Promise<string> {
    if (fault === 'kill') {
      const { kind, process } = this.#members[Math.floor(this.#random() * this.#members.length)]!
      const { pid } = process
      this.#lives.push({ pid, kind, killedAt: systemClock.now() })
      await process.kill()
      return ` of ${kind} ${pid}`
    }
    this.#restarts.push(systemClock.now())
    await this.#world.node.crash()
    await this.#world.node.start()
    this.#restarts.push(systemClock.now())
    return ' of Postgres'
  }

  /** Until every order arrived and no letter is left. The report counts the events that are missing by then. */
  async #settle(): Promise<void> {
    const { database, receiver } = this.#world
    const isOver = async () => {
      for (const channel of ['orders', 'events']) await this.#operator.replay(channel)
      const missing = this.#producer.confirmed.some(id => !receiver.taken(ORDERS.handler).has(id))
      return !missing && (await countOpen(database.pool)) === 0
    }
    await until(isOver, () => 'every letter is recovered', STALL_MS).catch(() => {})
  }
}
