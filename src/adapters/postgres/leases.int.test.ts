import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { findPostgres } from '../../../test/services/postgres.ts'
import { make, OutboxWorld, patience } from '../../../test/support/outbox-world.ts'
import { TestDatabase } from '../../../test/support/postgres.ts'
import { idOf } from '../../testing/conformance/broker/world.ts'
import { uniqueName } from '../../testing/conformance/harness.ts'

const found = await findPostgres()
const server = found.found ? await found.start() : undefined
const database = server && (await TestDatabase.migrated(server))
const world = new OutboxWorld(database!)
afterEach(async () => {
  await world.close()
  await database?.clear()
})
afterAll(async () => {
  await database?.close()
  await server?.close()
})
const why = found.found ? '' : ` (skipped: ${found.why})`
const DONE = { outcome: 'done' } as const
const LOST = { code: 'LAZARET_DELIVERY_LOST' }

/** Every process is taken for dead, as others see it. */
async function endLeases(): Promise<void> {
  await database!.pool.query(`update lazaret.outbox_owners set lease_until = '-infinity'`)
  await database!.pool.query('select lazaret.outbox_reclaim()')
}

describe.runIf(found.found)(`leases that are lost${why}`, () => {
  it('E21: what is claimed again while its first handler still runs is not forgotten with it', async () => {
    const channel = uniqueName('orders')
    const outbox = world.process({ leaseMs: 600_000, maxPollMs: 50 })
    const inbox = await world.subscribe(outbox, channel)
    const [event, other] = make.events(2, { channel })
    await outbox.publish([event!])
    const first = await inbox.next()
    await inbox.subscription.begin(first, [])
    await endLeases()
    const second = await inbox.next()
    await inbox.subscription.begin(second, [])
    await expect(inbox.subscription.settle(first, DONE)).rejects.toMatchObject(LOST)
    // The next claim clears away the notes of claims that have ended.
    await outbox.publish([other!])
    await inbox.next()
    await endLeases()
    const rows = await database!.rows(
      'select status, attempts from lazaret.outbox where event_id = $1 and owner is null',
      [event!.id],
    )
    expect(rows, 'it goes to others, and both attempts count').toEqual([{ status: 'pending', attempts: 2 }])
  })

  it('E21: what is in flight for nobody comes back', async () => {
    const channel = uniqueName('orders')
    const inbox = await world.subscribe(world.process({ leaseMs: 300, maxPollMs: 50 }), channel)
    const [event] = make.events(1, { channel })
    const writer = world.process()
    inbox.subscription.pause()
    await writer.publish([event!])
    await database!.pool.query(
      `update lazaret.outbox set status = 'in_flight', owner = 0 where event_id = $1`,
      [event!.id],
    )
    inbox.subscription.resume()
    expect(idOf(await inbox.next())).toBe(event!.id)
    const owners = await database!.rows('select id from lazaret.outbox_owners')
    expect(owners).toHaveLength(1)
    await patience.quiet()
    await inbox.assertEmpty('it came twice')
  })
})
