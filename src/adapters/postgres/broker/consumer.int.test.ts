import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { findPostgres } from '../../../../test/services/postgres.ts'
import { cliWorld } from '../../../../test/support/cli.ts'
import { make, OutboxWorld, timing } from '../../../../test/support/outbox-world.ts'
import { TestDatabase } from '../../../../test/support/postgres.ts'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import type { LazaretEvent } from '../../../core/event/event.ts'
import { fixed } from '../../../core/retry/fixed.ts'
import { systemClock } from '../../../ports/clock.ts'
import { type Consumer, createConsumer } from '../../../runtime/consumer/consumer.ts'
import { uniqueName } from '../../../testing/conformance/harness.ts'
import { postgresDeadLetters, postgresLedger } from '../index.ts'

const found = await findPostgres()
const server = found.found ? await found.start() : undefined
const database = server && (await TestDatabase.migrated(server))
const folder = await mkdtemp(join(tmpdir(), 'lazaret-postgres-consumer-'))
const world = new OutboxWorld(database!)
const consumers: Consumer[] = []
afterEach(async () => {
  for (const consumer of consumers.splice(0)) await consumer.close()
  await world.close()
})
afterAll(async () => {
  await database?.close()
  await server?.close()
  await rm(folder, { recursive: true })
})
const why = found.found ? '' : ` (skipped: ${found.why})`

async function consume(options: Parameters<typeof createConsumer>[0]): Promise<void> {
  const consumer = createConsumer({
    breaker: 'off',
    retry: { attempts: 2, backoff: fixed({ delayMs: 20 }) },
    ...options,
  })
  consumers.push(consumer)
  await consumer.start()
}

describe.runIf(found.found)(`a consumer on the outbox${why}`, () => {
  it('S2, R6: makes 5 attempts with full jitter, unless it is told otherwise', async () => {
    const channel = uniqueName('orders')
    const saved = new Promise<DeadLetter>(resolve => {
      const consumer = createConsumer({
        broker: world.process({ maxPollMs: 50 }),
        channel,
        breaker: 'off',
        // With full jitter the shortest wait is 0; the waits of a consumer's preset begin at 900 ms.
        random: () => 0,
        observer: { letterSaved: ({ letter }) => resolve(letter) },
        handle: async () => {
          throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
        },
      })
      consumers.push(consumer)
    })
    await consumers[0]!.start()
    await world.process().publish([make.event({ channel })])
    const { cycle } = await saved
    expect(cycle).toMatchObject({ reason: 'attempts_exhausted', attemptCount: 5 })
    expect(cycle.attempts.map(({ delayMs }) => delayMs)).toEqual([0, 0, 0, 0, undefined])
  })

  it.each(['the broker', 'a store'] as const)(
    'E10: what fails is retried, kept by %s, replayed in place from the command line, and resolved',
    async keeper => {
      const channel = uniqueName('orders')
      const shop = { isBroken: true, handled: [] as LazaretEvent[], attempts: 0 }
      const broker = world.process()
      const pool = database!.pool
      await consume({
        broker,
        channel,
        ...(keeper === 'a store' ? { deadLetters: postgresDeadLetters({ pool }) } : {}),
        handle: async event => {
          shop.attempts++
          if (shop.isBroken) throw new Error('out of order')
          shop.handled.push(event)
        },
      })
      const events = await broker.enqueue(
        pool,
        [1, 2, 3].map(order => ({ channel, type: 'order.placed', payload: { order } })),
      )
      const statuses = async () =>
        (
          await database!.rows<{ status: string }>('select status from lazaret.outbox where channel = $1', [
            channel,
          ])
        ).map(({ status }) => status)
      await timing.eventually(async () => (await statuses()).every(each => each === 'failed'), 'all are dead')
      expect(shop.attempts).toBe(6)
      shop.isBroken = false
      const { lazaretWith } = cliWorld(folder)
      const on = { env: { LAZARET_STORE: database!.url }, clock: systemClock }
      const plan = await lazaretWith(
        on,
        'replay',
        'plan',
        '--channel',
        channel,
        '--reason',
        'mended',
        '--json',
      )
      const replay = await lazaretWith(on, 'replay', 'start', plan.json[0].id, '--yes', '--json')
      expect(replay).toMatchObject({ code: 0 })
      expect(shop.handled.map(({ id }) => id).sort()).toEqual(events.map(({ id }) => id).sort())
      expect(await statuses()).toEqual(['delivered', 'delivered', 'delivered'])
      const [stats] = (await lazaretWith(on, 'dlq', 'stats', '--channel', channel, '--json')).json
      expect(stats).toMatchObject({ count: 3, byState: { resolved: 3 } })
      const [row] = await world.rows(events[0]!.id)
      expect(row!.failure_history).toMatchObject([{ attempts: 2, last_error: 'Error: out of order' }])
    },
  )

  it('B9: keys stay in order and effects happen once, though connections break all the time', async () => {
    const channel = uniqueName('orders')
    const pool = database!.pool
    await pool.query('create table if not exists effects (seq serial, channel text, key text, event uuid)')
    const ledger = postgresLedger({ pool })
    const chance = { failures: 40 }
    for (let process = 0; process < 3; process++)
      await consume({
        broker: world.process({ leaseMs: 500, maxPollMs: 50 }),
        channel,
        ordering: 'by-key',
        concurrency: 4,
        poison: 'off',
        retry: { attempts: 100, backoff: fixed({ delayMs: 5 }) },
        handle: async event => {
          if (chance.failures-- > 0 && event.id.endsWith('0')) throw new Error('now and then')
          const tx = await pool.connect()
          try {
            await tx.query('begin')
            if (await ledger.record(tx, 'bill', event.idempotencyKey))
              await tx.query('insert into effects (channel, key, event) values ($1, $2, $3)', [
                channel,
                event.key,
                event.id,
              ])
            await tx.query('commit')
            tx.release()
          } catch (error) {
            tx.release(true)
            throw error
          }
        },
      })
    const events = Array.from({ length: 200 }, (_, index) => make.event({ channel, key: `key-${index % 7}` }))
    await world.process().publish(events)
    const effects = () =>
      database!.rows<{ key: string; event: string }>(
        'select key, event from effects where channel = $1 order by seq',
        [channel],
      )
    for (let done = 0, breaks = 0; done < events.length; ) {
      await timing.eventually(async () => {
        const now = await effects().catch(() => [])
        return now.length >= Math.min(events.length, done + 20)
      }, `more than ${done} effects`)
      done = (await effects()).length
      if (breaks++ < 5)
        await pool.query(
          `select pg_terminate_backend(pid) from pg_stat_activity
           where datname = current_database() and pid <> pg_backend_pid()`,
        )
    }
    const happened = await effects()
    expect(happened).toHaveLength(events.length)
    for (const key of new Set(events.map(each => each.key)))
      expect(happened.filter(each => each.key === key).map(({ event }) => event)).toEqual(
        events.filter(each => each.key === key).map(({ id }) => id),
      )
  })

  it.runIf(server?.node)('E21: a server that is killed and started again has lost nothing', async () => {
    const channel = uniqueName('orders')
    const handled = new Set<string>()
    const broker = world.process({ leaseMs: 1_000, maxPollMs: 50 })
    await consume({
      broker,
      channel,
      concurrency: 2,
      poison: 'off',
      handle: async ({ id }) => {
        handled.add(id)
        // Slow enough that the server dies under some of them.
        await timing.pass(5)
      },
    })
    const events = make.events(100, { channel })
    await broker.publish(events)
    await timing.eventually(() => handled.size >= 20, 'some are handled')
    await server!.node!.kill()
    await server!.node!.start()
    const left = `select count(*)::int as count from lazaret.outbox where channel = $1 and status <> 'delivered'`
    await timing.eventually(
      async () => (await database!.rows<{ count: number }>(left, [channel]).catch(() => []))[0]?.count === 0,
      'all are delivered',
    )
    expect(handled.size).toBe(events.length)
  })
})
