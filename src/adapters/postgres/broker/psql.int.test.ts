import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { findPostgres } from '../../../../test/services/postgres.ts'
import { OutboxWorld, timing } from '../../../../test/support/outbox-world.ts'
import { TestDatabase } from '../../../../test/support/postgres.ts'
import { asRole, findPsql, PsqlSession, psql } from '../../../../test/support/psql.ts'
import type { LazaretEvent } from '../../../core/event/event.ts'
import { fixed } from '../../../core/retry/fixed.ts'
import type { Consumer } from '../../../runtime/consumer/consumer.ts'
import { createRelay } from '../../../runtime/relay/relay.ts'
import { uniqueName } from '../../../testing/conformance/harness.ts'

const services = [await findPostgres(), await findPsql()] as const
const missing = services.flatMap(each => (each.found ? [] : [each.why]))
const isThere = missing.length === 0
const server = isThere && services[0].found ? await services[0].start() : undefined
const database = server && (await TestDatabase.migrated(server))
const world = new OutboxWorld(database!)
const relays: Consumer[] = []
afterEach(async () => {
  for (const relay of relays.splice(0)) await relay.close()
  await world.close()
})
afterAll(async () => {
  await database?.close()
  await server?.close()
})

/** The receiver of a relay, which refuses everything until it is fixed. */
async function relayToFarSide(channel: string, generation: number) {
  const farSide = { isBroken: true, taken: [] as LazaretEvent[] }
  const relay = createRelay({
    from: world.process({ maxPollMs: 50, generation }),
    channel,
    name: 'to-partner',
    breaker: 'off',
    poison: 'off',
    retry: { attempts: 3, backoff: fixed({ delayMs: 20 }) },
    to: async event => {
      if (farSide.isBroken) throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
      farSide.taken.push(event)
    },
  })
  relays.push(relay)
  await relay.start()
  return farSide
}

const LIST = (channel: string) =>
  `select event_id, target, type, attempts, last_error from lazaret.outbox
   where status = 'failed' and deleted_at is null and channel = '${channel}' order by failed_at desc`

/** Two roles as docs/brokers/postgres.md makes them: one may look, the other may replay, and neither may more. */
async function roles() {
  const name = uniqueName('ops').replaceAll('-', '_')
  const [reader, replayer] = [`${name}_reader`, `${name}_replayer`]
  await database!.pool.query(
    `create role ${reader} login; grant usage on schema lazaret to ${reader};
     grant select on lazaret.outbox to ${reader};
     create role ${replayer} login; grant usage on schema lazaret to ${replayer};
     grant execute on function lazaret.outbox_replay(uuid, bigint, text) to ${replayer}`,
  )
  return {
    reader: asRole(database!.url, reader),
    replayer: asRole(database!.url, replayer),
    drop: () =>
      database!.pool.query(
        `drop owned by ${reader}, ${replayer}; drop role ${reader}; drop role ${replayer}`,
      ),
  }
}

/** The one who replays second waits for the first to commit. */
async function someoneWaits(): Promise<void> {
  const waiting = `select 1 from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock' and query like '%outbox_replay%'`
  await timing.eventually(
    async () => (await database!.rows(waiting)).length === 1,
    'the second waits for the first',
  )
}

describe.runIf(isThere)(`from psql alone${isThere ? '' : ` (skipped: ${missing.join('; ')})`}`, () => {
  it('S5: what failed is listed and replayed, a running relay delivers it with the same id and key', async () => {
    const channel = uniqueName('orders')
    const farSide = await relayToFarSide(channel, 2)
    const { reader, replayer, drop } = await roles()
    const [event, other] = await world.process().enqueue(
      database!.pool,
      ['charge-1', 'charge-2'].map(idempotencyKey => ({
        channel,
        type: 'order.placed',
        idempotencyKey,
        payload: { orderId: 17 },
      })),
    )
    await timing.eventually(async () => (await psql(reader, LIST(channel))).length === 2, 'both failed')
    const list = await psql(reader, LIST(channel))
    expect(list).toContain(`${event!.id}|to-partner|order.placed|3|Error: connect ECONNREFUSED`)

    await expect(psql(replayer, LIST(channel))).rejects.toThrow('permission denied')
    await expect(psql(replayer, `delete from lazaret.outbox`)).rejects.toThrow('permission denied')
    await expect(psql(replayer, `select lazaret.outbox_reclaim()`)).rejects.toThrow('permission denied')
    await expect(psql(reader, `select lazaret.outbox_replay('${event!.id}', 2, 'eve')`)).rejects.toThrow(
      'permission denied',
    )

    farSide.isBroken = false
    const ada = new PsqlSession(replayer)
    expect(await ada.ask(`begin; select lazaret.outbox_replay('${event!.id}', 2, 'ada')`)).toBe('1')
    const bob = psql(replayer, `select lazaret.outbox_replay('${event!.id}', 9, 'bob')`)
    await someoneWaits()
    expect(farSide.taken).toEqual([])
    ada.say('commit')
    expect(await bob).toEqual(['0'])
    await ada.end()

    await timing.eventually(() => farSide.taken.length === 1, 'it is delivered')
    expect(farSide.taken[0]).toMatchObject({
      id: event!.id,
      idempotencyKey: 'charge-1',
      payload: { orderId: 17 },
    })
    await timing.eventually(
      async () => (await world.rows(event!.id))[0]!.status === 'delivered',
      'the row says so',
    )
    const [row] = await world.rows(event!.id)
    expect(row).toMatchObject({ generation: '2', attempts: 1, last_error: null })
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT/)
    expect(row!.failure_history).toEqual([
      {
        generation: 0,
        attempts: 3,
        last_error: 'Error: connect ECONNREFUSED',
        first_failed_at: time,
        failed_at: time,
        replayed_by: 'ada',
        replayed_at: time,
      },
    ])
    const [times] = (row as unknown as { failure_history: Record<string, string>[] }).failure_history
    const [first, last, replayed] = ['first_failed_at', 'failed_at', 'replayed_at'].map(name =>
      Date.parse(times![name]!),
    )
    expect([first! <= last!, last! <= replayed!]).toEqual([true, true])
    expect(await psql(reader, LIST(channel))).toEqual([expect.stringContaining(other!.id)])
    await drop()
  })
})
