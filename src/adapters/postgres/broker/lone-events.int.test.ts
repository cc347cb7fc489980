import { describe, expect, it } from 'vitest'
import { make, postgresWorld, timing } from '../../../../test/support/outbox-world.ts'
import type { Delivery } from '../../../ports/broker.ts'
import { Inbox, idOf } from '../../../testing/conformance/broker/world.ts'
import { uniqueName } from '../../../testing/conformance/harness.ts'
import type { PgPool, PgResult } from '../connection/client.ts'

const { found, database, world, why } = await postgresWorld()
const DONE = { outcome: 'done' } as const

/**
 * A subscription that begins an attempt as soon as it gets a delivery, as an idle consumer does. It never polls: a poll could
 * claim an event while the one before is still open.
 */
async function beginningAtOnce(
  answered: (text: string, result: PgResult) => PgResult = (_, result) => result,
) {
  const channel = uniqueName('orders')
  const statements: string[] = []
  const { pool } = database!
  const watched: PgPool = {
    connect: () => pool.connect(),
    query: async (text, values) => {
      const result = await pool.query(text, values)
      statements.push(text)
      return answered(text, result)
    },
  }
  const failed = Promise.withResolvers<unknown>()
  const outbox = world.stoppedProcess({
    pool: watched,
    leaseMs: 600_000,
    listen: false,
    onError: failed.resolve,
  })
  const inbox = new Inbox(timing)
  const state = { begins: true, begun: Promise.resolve() as Promise<void> | void }
  inbox.subscription = await outbox.subscribe(
    { channel, handler: 'bill', prefetch: 10, ordering: 'none' },
    delivery => {
      if (state.begins) {
        state.begun = inbox.subscription.begin(delivery, [])
        state.begins = false
      }
      inbox.receive(delivery)
    },
  )
  await timing.eventually(
    () => statements.some(text => text.includes('outbox_owners where id = $3) as "isAlive"')),
    'the first claim has found nothing',
  )
  const publish = async (count: number) => {
    const events = make.events(count, { channel })
    await outbox.publish(events)
    return events.map(({ id }) => id)
  }
  /** Handles one event alone. From then on claims record the attempts of others. */
  const handleOne = async () => {
    state.begins = true
    await publish(1)
    const delivery = await inbox.next()
    await state.begun
    await inbox.subscription.settle(delivery, DONE)
    statements.length = 0
  }
  /** What another process gets, once this one is taken for dead. */
  const afterCrash = async (count: number) => {
    await world.endLeases()
    const other = await world.subscribe(world.process({ maxPollMs: 50 }), channel)
    return other.take(count)
  }
  return { inbox, state, statements, failed: failed.promise, publish, handleOne, afterCrash }
}

const CLAIMS_AND_BEGINS = 'outbox_claim_and_begin'

function running(): Promise<{ seq: string }[]> {
  return database!.rows('select unnest(running)::text as seq from lazaret.outbox_owners')
}

const startedOf = (deliveries: readonly Delivery[], id: string) =>
  deliveries.find(delivery => idOf(delivery) === id)?.started

describe.runIf(found.found)(`events that arrive alone${why}`, () => {
  it('B8: the claim records the attempt of the first event, and only of that one, before its handler runs', async () => {
    const { inbox, state, statements, publish, handleOne, afterCrash } = await beginningAtOnce()
    await handleOne()
    state.begins = true
    const ids = await publish(2)
    const first = await inbox.next()
    await inbox.next()
    await state.begun
    expect(statements.some(text => text.includes(CLAIMS_AND_BEGINS))).toBe(true)
    expect(statements.filter(text => text.includes('set running'))).toEqual([])
    expect(await running()).toHaveLength(1)
    const again = await afterCrash(2)
    for (const id of ids) expect(startedOf(again, id)).toBe(id === idOf(first) ? 1 : 0)
  })

  it('B8: an attempt that its claim recorded and that did not begin does not count as a crash', async () => {
    const { inbox, statements, publish, handleOne, afterCrash } = await beginningAtOnce()
    await handleOne()
    const [id] = await publish(1)
    await inbox.next()
    expect(statements.some(text => text.includes(CLAIMS_AND_BEGINS))).toBe(true)
    await timing.eventually(async () => (await running()).length === 0, 'the attempt is taken back')
    expect(startedOf(await afterCrash(1), id!)).toBe(0)
  })

  it('B8: an event whose claim was answered on a broken connection comes again without an attempt', async () => {
    let breaks = false
    const { inbox, failed, publish, handleOne } = await beginningAtOnce((text, result) => {
      if (!breaks || !text.includes(CLAIMS_AND_BEGINS) || result.rows.length === 0) return result
      breaks = false
      throw new Error('the connection broke')
    })
    await handleOne()
    breaks = true
    const [id] = await publish(1)
    await failed
    inbox.subscription.resume()
    expect(startedOf([await inbox.next()], id!)).toBe(0)
    expect(breaks).toBe(false)
  })
})
