import { describe, expect, it } from 'vitest'
import { make, postgresWorld, settleAsDead } from '../../../../test/support/outbox-world.ts'
import type { LazaretEvent } from '../../../core/event/event.ts'
import { replayHeaders } from '../../../core/event/replay-headers.ts'
import { eventOf, type Inbox, idOf } from '../../../testing/conformance/broker/world.ts'
import { uniqueName } from '../../../testing/conformance/harness.ts'
import { postgresDeadLetters } from '../index.ts'

const { found, database, world, why } = await postgresWorld()

type Outbox = ReturnType<typeof world.process>

/** An event that was published twice, and failed both times for its handler. */
async function failedTwice(): Promise<{ outbox: Outbox; inbox: Inbox; event: LazaretEvent }> {
  const channel = uniqueName('orders')
  const outbox = world.process()
  const inbox = await world.subscribe(outbox, channel)
  const [event] = make.events(1, { channel })
  await outbox.publish([event!])
  await outbox.publish([event!])
  for (const delivery of await inbox.take(2)) await settleAsDead(inbox, delivery)
  return { outbox, inbox, event: event! }
}

const replay = async (id: string) =>
  (
    await database!.rows<{ count: number }>(`select lazaret.outbox_replay($1, null, 'ada') as count`, [id])
  )[0]!.count

describe.runIf(found.found)(`an event that failed twice for a handler${why}`, () => {
  it('K8: is one row once it is replayed, whose history tells of both failures', async () => {
    const { outbox, inbox, event } = await failedTwice()
    const headers = replayHeaders(event, { handler: 'bill', replayId: 'replay-1' })
    await outbox.publish([{ ...event, headers }])
    await settleAsDead(inbox, await inbox.next())
    const rows = await world.rows(event.id)
    expect(rows).toMatchObject([
      {
        status: 'failed',
        attempts: 1,
        failure_history: [
          { attempts: 1, replayed_by: expect.stringContaining('replay-1') },
          { attempts: 1, replayed_by: expect.stringContaining('replay-1') },
        ],
      },
    ])
    await outbox.publish([event])
    await inbox.done(await inbox.next())
    await inbox.assertEmpty('it came twice')
    const [row] = await world.rows(event.id)
    expect(row!.failure_history.map(cycle => cycle['replayed_by'])).toEqual([
      expect.stringContaining('replay-1'),
      expect.stringContaining('replay-1'),
      'published again',
    ])
  })

  it('K8: is revived once by a batch that has it twice', async () => {
    const { outbox, inbox, event } = await failedTwice()
    await outbox.publish([event, event])
    await inbox.done(await inbox.next())
    await inbox.assertEmpty('it came twice')
    expect(await world.rows(event.id)).toHaveLength(1)
  })

  it('S5, K8: is replayed from psql once, and its history tells of both failures', async () => {
    const { inbox, event } = await failedTwice()
    expect(await replay(event.id)).toBe(1)
    await settleAsDead(inbox, await inbox.next())
    await inbox.assertEmpty('it came twice')
    expect(await world.rows(event.id)).toMatchObject([
      { status: 'failed', failure_history: [{ replayed_by: 'ada' }, { replayed_by: 'ada' }] },
    ])
    expect(await replay(event.id)).toBe(1)
    await inbox.done(await inbox.next())
    const { letters } = await postgresDeadLetters({ pool: database!.pool }).list({ channel: event.channel })
    expect(letters).toMatchObject([{ state: 'resolved', replays: 2 }])
  })

  it.each(['publish', 'psql'])('B9: keeps the place of the row that holds its key (%s)', async how => {
    const channel = uniqueName('orders')
    const outbox = world.process()
    const inbox = await world.subscribe(outbox, channel, { ordering: 'by-key' })
    const [dead, next] = make.events(2, { channel, key: 'a' })
    await outbox.publish([dead!])
    await outbox.publish([dead!])
    await outbox.publish([next!])
    await settleAsDead(inbox, await inbox.next())
    await outbox.unblockKey(channel, dead!.id)
    await settleAsDead(inbox, await inbox.next())
    await inbox.assertEmpty('its key went on')
    if (how === 'publish') await outbox.publish([dead!])
    else expect(await replay(dead!.id)).toBe(1)
    const again = await inbox.next()
    expect(eventOf(again).id).toBe(dead!.id)
    await inbox.done(again)
    expect(idOf(await inbox.next())).toBe(next!.id)
    expect(await world.rows(dead!.id)).toHaveLength(1)
  })
})
