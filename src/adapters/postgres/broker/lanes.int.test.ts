import { describe, expect, it } from 'vitest'
import { postgresWorld } from '../../../../test/support/outbox-world.ts'
import { uniqueName } from '../../../testing/conformance/harness.ts'
import type { PgQueryable } from '../connection/client.ts'
import { claimFirst, LaneScan } from './claim.ts'

const { found, database, why } = await postgresWorld()

/** A handler that keeps keys in order, and two processes that are to claim for it. */
async function twoClaimants() {
  const claimFor = { channel: uniqueName('orders'), handler: 'bill', isByKey: true, generation: 0 }
  await database!.pool.query(
    `insert into lazaret.outbox_handlers (channel, handler, by_key) values ($1, 'bill', true)`,
    [claimFor.channel],
  )
  const [a, b] = await database!.rows<{ id: number }>(
    `insert into lazaret.outbox_owners (lease_until) select now() + interval '1 hour' from generate_series(1, 2)
     returning id::float8 as id`,
  )
  const claim = async (on: PgQueryable, { id }: { id: number }, seqs: readonly number[]) => {
    const rows = await claimFirst(on, claimFor, { owner: id, number: 1, ended: [] }, seqs)
    return rows.map(([seq]) => seq)
  }
  return { claimFor, a: a!, b: b!, claim }
}

const insert = (on: PgQueryable, channel: string) =>
  on.query(
    `insert into lazaret.outbox (channel, type, key, payload) values ($1, 'order.placed', 'k', '{}')`,
    [channel],
  )

/** What one sees as first of the key before an earlier one is committed, and what another sees after that. */
async function twoFirsts(claimFor: Parameters<typeof claimFirst>[1]) {
  const slow = await database!.pool.connect()
  await slow.query('begin')
  await insert(slow, claimFor.channel)
  await insert(database!.pool, claimFor.channel)
  const later = await new LaneScan().ready(database!.pool, claimFor, 10)
  await slow.query('commit')
  slow.release()
  const earlier = await new LaneScan().ready(database!.pool, claimFor, 10)
  expect(earlier.seqs).toHaveLength(1)
  expect(later.seqs[0]).toBeGreaterThan(earlier.seqs[0]!)
  return { earlier: earlier.seqs, later: later.seqs }
}

describe.runIf(found.found)(`claims in lanes${why}`, () => {
  it('B9: what was first of its key when it was looked at is not claimed when it no longer is', async () => {
    const { claimFor, a, b, claim } = await twoClaimants()
    const { earlier, later } = await twoFirsts(claimFor)
    expect(await claim(database!.pool, b, later), 'an earlier one waits').toEqual([])
    expect(await claim(database!.pool, a, earlier)).toEqual([earlier[0]])
    expect(await claim(database!.pool, b, later), 'an earlier one is in flight').toEqual([])
  })

  it('B9: nor is it while somebody else claims in the lane at the same moment', async () => {
    const { claimFor, a, b, claim } = await twoClaimants()
    const { earlier, later } = await twoFirsts(claimFor)
    const claiming = await database!.pool.connect()
    await claiming.query('begin')
    expect(await claim(claiming, a, earlier)).toHaveLength(1)
    expect(await claim(database!.pool, b, later)).toEqual([])
    await claiming.query('commit')
    claiming.release()
  })

  it('B9: keys with only dead-lettered events are not read', async () => {
    const { claimFor } = await twoClaimants()
    await database!.pool.query(
      `insert into lazaret.outbox (channel, type, key, lane, target, payload, status, owner, failed_at)
       select $1, 'order.placed', 'k' || n, 'k' || n, 'bill', '{}', 'failed', 0, now() from generate_series(1, 2000) n`,
      [claimFor.channel],
    )
    await insert(database!.pool, claimFor.channel)
    let looks = 0
    const watched: PgQueryable = {
      query(text, values) {
        looks++
        return database!.pool.query(text, values)
      },
    }
    expect((await new LaneScan().ready(watched, claimFor, 10)).seqs).toHaveLength(1)
    expect(looks).toBe(1)
  })
})
