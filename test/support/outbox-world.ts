import { afterAll, afterEach } from 'vitest'
import { type PostgresOptions, postgresOutbox } from '../../src/adapters/postgres/index.ts'
import { replayOf } from '../../src/core/event/replay-headers.ts'
import type { Delivery, SubscribeOptions } from '../../src/ports/broker.ts'
import { type Clock, systemClock, systemRandom } from '../../src/ports/clock.ts'
import { Inbox } from '../../src/testing/conformance/broker/world.ts'
import { TestTiming } from '../../src/testing/conformance/harness.ts'
import { createFactory } from '../../src/testing/factories.ts'
import { findPostgres } from '../services/postgres.ts'
import { TestDatabase } from './postgres.ts'

export const make = createFactory({ clock: systemClock, random: systemRandom })
export const timing = new TestTiming({})

type Outbox = ReturnType<typeof postgresOutbox>

/** What its status, counts and errors are, as a person with psql sees them. */
export interface OutboxRow {
  readonly status: string
  readonly attempts: number
  readonly last_error: string | null
  readonly generation: string
  readonly failure_history: readonly Record<string, unknown>[]
  readonly idempotency_key: string
  readonly deleted_at: Date | null
  readonly target: string | null
}

/** Outboxes on one database, each as another process would have it, closed when the test is over. */
export class OutboxWorld {
  readonly database: TestDatabase
  readonly #open: Outbox[] = []

  constructor(database: TestDatabase) {
    this.database = database
  }

  process(options: Partial<PostgresOptions> = {}): Outbox {
    const outbox = postgresOutbox({ pool: this.database.pool, ...options })
    this.#open.push(outbox)
    return outbox
  }

  /** A process that does nothing more by itself: it has hung, or it is dead. */
  stoppedProcess(options: Partial<PostgresOptions> = {}): Outbox {
    const clock: Clock = { now: () => systemClock.now(), schedule: () => () => {} }
    return this.process({ clock, ...options })
  }

  async subscribe(outbox: Outbox, channel: string, options: Partial<SubscribeOptions> = {}): Promise<Inbox> {
    const inbox = new Inbox(timing)
    inbox.subscription = await outbox.subscribe(
      { channel, handler: 'bill', prefetch: 10, ordering: 'none', ...options },
      delivery => inbox.receive(delivery),
    )
    return inbox
  }

  rows(eventId: string): Promise<OutboxRow[]> {
    return this.database.rows('select * from lazaret.outbox where event_id = $1 order by seq', [eventId])
  }

  /** Every process is taken for dead, as others see it: as soon as it is not claiming. */
  async endLeases(): Promise<void> {
    const { pool } = this.database
    await pool.query(`update lazaret.outbox_owners set lease_until = '-infinity'`)
    await timing.eventually(async () => {
      await pool.query('select lazaret.outbox_reclaim()')
      const left = `select id from lazaret.outbox_owners where lease_until = '-infinity'`
      return (await this.database.rows(left)).length === 0
    }, 'all are taken for dead')
  }

  async close(): Promise<void> {
    for (const outbox of this.#open.splice(0)) await outbox.close()
  }
}

/** Settles a delivery as dead, with the letter that a consumer would write: under the replay that the event is. */
export async function settleAsDead(inbox: Inbox, delivery: Delivery, saved = false): Promise<void> {
  const { content, channel } = delivery
  const replay = 'raw' in content ? undefined : replayOf(content)
  const letter = make.letter({
    event: content as never,
    channel,
    attempts: [make.attempt(1)],
    replay: replay?.attempt,
    replayId: replay?.replayId,
  })
  await inbox.subscription.begin(delivery, [])
  await inbox.subscription.settle(delivery, { outcome: 'dead', letter, saved })
}

/** A server for the tests of one file, a database with the schema, and outboxes that are closed after each test. */
export async function postgresWorld() {
  const found = await findPostgres()
  const server = found.found ? await found.start() : undefined
  const database = server && (await TestDatabase.migrated(server))
  const world = new OutboxWorld(database!)
  afterEach(() => world.close())
  afterAll(async () => {
    await database?.close()
    await server?.close()
  })
  return { found, server, database, world, why: found.found ? '' : ` (skipped: ${found.why})` }
}
