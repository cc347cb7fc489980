import { fileURLToPath } from 'node:url'
import type { Pool } from 'pg'
import { type PostgresOutbox, postgresOutbox } from '../../../src/adapters/postgres/index.ts'
import type { LazaretEvent } from '../../../src/core/event/event.ts'
import type { Random } from '../../../src/core/random.ts'
import { systemClock } from '../../../src/ports/clock.ts'
import { createFactory } from '../../../src/testing/factories.ts'
import { seededRandom } from '../../../src/testing/seeded-random.ts'
import type { PostgresService } from '../../services/postgres.ts'
import type { PostgresNode } from '../../services/postgres-node.ts'
import { TestDatabase } from '../../support/postgres.ts'
import { drawFaultTimes, drawKinds } from '../campaign/draw.ts'
import { RestartingProcess } from '../campaign/restarting-process.ts'
import { pause, until } from '../campaign/wait.ts'
import { collectFindings, countLeft, type Findings } from './count.ts'
import { Enqueuer } from './enqueuer.ts'
import { Operator } from './operator.ts'
import {
  type CampaignOptions,
  type Fault,
  FREE,
  LONGER_THAN_A_LEASE_MS,
  ORDERED,
  PER_KEY,
  RELAY,
  SHARES,
} from './plan.ts'

const SCRIPT = fileURLToPath(new URL('relay.ts', import.meta.url))
const STALL_MS = 400_000
const PHANTOMS = 3

export interface CampaignResult {
  readonly options: CampaignOptions
  readonly findings: Findings
  readonly tookMs: number
  /** Attempts at events that the receiver already had, which the ledger refused. */
  readonly turnedAway: number
  readonly enqueuedAgain: number
  readonly foundCommitted: number
}

/** Events flow while relays and their server die; then it is counted what became of each. */
export async function runCampaign(
  options: CampaignOptions,
  server: PostgresService,
  tell: (line: string) => void = () => {},
): Promise<CampaignResult> {
  const database = await TestDatabase.migrated(server)
  const campaign = new Campaign(options, server.node!, database)
  try {
    return await campaign.run(tell)
  } finally {
    await campaign.close()
    await database.close()
  }
}

class Campaign {
  readonly #options: CampaignOptions
  readonly #node: PostgresNode
  readonly #pool: Pool
  readonly #outbox: PostgresOutbox
  readonly #enqueuer: Enqueuer
  readonly #operator: Operator
  readonly #relays: readonly RestartingProcess[]
  readonly #events: readonly LazaretEvent[]
  readonly #phantoms: readonly LazaretEvent[]
  readonly #random: Random
  #handled = 0

  constructor(options: CampaignOptions, node: PostgresNode, { pool, url }: TestDatabase) {
    this.#options = options
    this.#node = node
    this.#pool = pool
    this.#outbox = postgresOutbox({ pool })
    this.#enqueuer = new Enqueuer(pool, this.#outbox)
    this.#operator = new Operator(pool)
    this.#relays = Array.from(
      { length: options.relays },
      (_, index) => new RestartingProcess(SCRIPT, url, String(index)),
    )
    this.#random = seededRandom(options.seed + 3)
    const make = createFactory({ clock: systemClock, random: seededRandom(options.seed + 2) })
    const keys = Math.ceil(options.messages / PER_KEY)
    this.#events = drawKinds(options, SHARES).map((kind, n) =>
      make.event({
        channel: n % 2 === 0 ? ORDERED : FREE,
        key: `key-${n % keys}`,
        payload: { kind, n },
      }),
    )
    this.#phantoms = make.events(PHANTOMS, { channel: FREE, payload: { kind: 'valid', n: -1 } })
  }

  async run(tell: (line: string) => void): Promise<CampaignResult> {
    await this.#prepare()
    await Promise.all(this.#relays.map(relay => relay.begin()))
    const startedAt = systemClock.now()
    const enqueuing = this.#enqueuer.enqueue(this.#events, this.#phantoms, () => this.#handled)
    this.#operator.start()
    for (const { fault, at } of drawFaultTimes(this.#options, this.#options.faults)) {
      await this.#reach(at)
      tell(`${this.#handled} handled: ${fault}`)
      await this.#inject(fault)
    }
    while (!(await this.#isOver(enqueuing))) await this.#look()
    tell('no more faults; waiting until every event is handled or dead')
    await until(
      async () => (await countLeft(this.#pool)) === 0,
      () => 'every event is handled or dead',
      STALL_MS,
    ).catch(() => {})
    const tookMs = systemClock.now() - startedAt
    await this.#operator.stop()
    await Promise.all(this.#relays.map(relay => relay.end()))
    return {
      options: this.#options,
      findings: await collectFindings(this.#pool, this.#events, this.#phantoms),
      tookMs,
      turnedAway: this.#relays.reduce((sum, { outcomes }) => sum + (outcomes.get('refused') ?? 0), 0),
      enqueuedAgain: this.#enqueuer.again,
      foundCommitted: this.#enqueuer.foundCommitted,
    }
  }

  async close(): Promise<void> {
    this.#enqueuer.stop()
    await this.#operator.stop()
    await Promise.all(this.#relays.map(relay => relay.end('SIGKILL')))
    await this.#outbox.close()
  }

  /**
   * Creates the receiver's table, and registers the relays before there are events, as in a service that has run
   * before.
   */
  async #prepare(): Promise<void> {
    await this.#pool.query(
      'create table effects (seq bigserial, event uuid, channel text, key text, n integer, relay integer)',
    )
    for (const channel of [ORDERED, FREE]) {
      const ordering = channel === ORDERED ? 'by-key' : 'none'
      const known = { channel, handler: RELAY, prefetch: 1, ordering } as const
      await (await this.#outbox.subscribe(known, () => {})).close()
    }
  }

  async #reach(at: number): Promise<void> {
    await until(
      async () => {
        await this.#look()
        return this.#handled >= at
      },
      () => `${at} events are handled`,
      STALL_MS,
    )
  }

  /** About how many, and cheap to ask: numbers that a rollback has used up are counted too. */
  async #look(): Promise<void> {
    const { rows } = await this.#pool
      .query('select last_value::int as count from effects_seq_seq')
      .catch(() => ({ rows: [] }))
    this.#handled = rows[0]?.count ?? this.#handled
  }

  async #isOver(enqueuing: Promise<void>): Promise<boolean> {
    const soon = new Promise<false>(resolve => systemClock.schedule(100, () => resolve(false)))
    return await Promise.race([enqueuing.then(() => true), soon])
  }

  async #inject(fault: Fault): Promise<void> {
    switch (fault) {
      case 'kill':
        return this.#anyRelay().kill()
      case 'freeze':
        return this.#freeze(this.#anyRelay())
      case 'cut':
        return this.#cut()
      case 'restart':
      case 'outage':
        await this.#node.crash()
        if (fault === 'outage') await pause(LONGER_THAN_A_LEASE_MS)
        await this.#node.start()
    }
  }

  #anyRelay(): RestartingProcess {
    return this.#relays[Math.floor(this.#random() * this.#relays.length)]!
  }

  async #freeze(relay: RestartingProcess): Promise<void> {
    relay.stop()
    await pause(LONGER_THAN_A_LEASE_MS)
    relay.resume()
  }

  /** The connection that terminates the others may be terminated too. */
  async #cut(): Promise<void> {
    const others = `select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`
    await this.#pool.query(others).catch(() => {})
  }
}
