import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { make, postgresWorld, settleAsDead, timing } from '../../../../test/support/outbox-world.ts'
import { ROOT } from '../../../../test/support/source.ts'
import { idOf } from '../../../testing/conformance/broker/world.ts'
import { uniqueName } from '../../../testing/conformance/harness.ts'
import type { PgQueryable } from '../connection/client.ts'

const { found, database, world, why } = await postgresWorld()
const page = readFileSync(join(ROOT, 'docs/brokers/postgres.md'), 'utf8')

/** What the page tells people to run, for this channel and the handler `bill`. */
function recipe(title: string, channel: string): string {
  const [, sql] = /```sql\n(.*?)```/s.exec(page.slice(page.indexOf(`**${title}.**`))) ?? []
  return sql!.replaceAll(`'orders'`, `'${channel}'`).replaceAll(`'billing'`, `'bill'`)
}

/** Runs it while a transaction that has enqueued is not over, which it waits for. */
async function runBehind(sql: string, enqueue: (tx: PgQueryable) => Promise<unknown>): Promise<void> {
  const tx = await database!.pool.connect()
  await tx.query('begin')
  await enqueue(tx)
  const changing = database!.pool.query(sql)
  const waiting = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  await timing.eventually(async () => (await database!.rows(waiting)).length === 1, 'it waits')
  await tx.query('commit')
  tx.release()
  await changing
}

describe.runIf(found.found)(`handlers that change${why}`, () => {
  it('S6: one that is retired as the page says leaves nothing to do, and gets nothing more', async () => {
    const channel = uniqueName('orders')
    const outbox = world.process({ maxPollMs: 50 })
    const [bill, ship] = [
      await world.subscribe(outbox, channel),
      await world.subscribe(outbox, channel, { handler: 'ship' }),
    ]
    await outbox.publish(make.events(1, { channel }))
    await settleAsDead(bill, await bill.next())
    await bill.subscription.close()
    await runBehind(recipe('Retire a handler', channel), tx =>
      outbox.enqueue(tx, { channel, type: 'order.placed' }),
    )
    await outbox.publish(make.events(1, { channel }))
    await ship.take(3)
    const rows = await database!.rows(
      `select status, deleted_at is not null as "isDeleted" from lazaret.outbox where channel = $1 and target = 'bill'`,
      [channel],
    )
    expect(rows).toEqual([{ status: 'failed', isDeleted: true }])
    const letters = await database!.rows('select state from lazaret.dead_letters where channel = $1', [
      channel,
    ])
    expect(letters).toEqual([{ state: 'discarded' }])
  })

  it('B9: one that is switched to order by key as the page says has all it had waiting in order', async () => {
    const channel = uniqueName('orders')
    const outbox = world.process({ maxPollMs: 50 })
    const before = await world.subscribe(outbox, channel)
    const [dead, behind, first] = [
      ...make.events(2, { channel, key: 'a' }),
      ...make.events(1, { channel, key: 'b' }),
    ]
    await outbox.publish([dead!])
    await settleAsDead(before, await before.next())
    await before.subscription.close()
    await expect(world.subscribe(outbox, channel, { ordering: 'by-key' })).rejects.toThrow('how to change it')
    await outbox.publish([behind!, first!])
    let second: string | undefined
    await runBehind(recipe('Switch to order by key', channel), async tx => {
      second = (await outbox.enqueue(tx, { channel, type: 'order.placed', key: 'b' })).id
    })
    const inbox = await world.subscribe(outbox, channel, { ordering: 'by-key' })
    const delivery = await inbox.next()
    expect(idOf(delivery)).toBe(first!.id)
    await inbox.assertEmpty('a later one of a key did not wait')
    await inbox.done(delivery)
    expect(idOf(await inbox.next())).toBe(second)
    await outbox.unblockKey(channel, dead!.id)
    expect(idOf(await inbox.next())).toBe(behind!.id)
  })
})
