import { describe, expect, it } from 'vitest'
import { make, postgresWorld, settleAsDead } from '../../../../test/support/outbox-world.ts'
import { replayHeaders } from '../../../core/event/replay-headers.ts'
import { eventOf } from '../../../testing/conformance/broker/world.ts'
import { uniqueName } from '../../../testing/conformance/harness.ts'
import { postgresDeadLetters } from '../index.ts'

const { found, database, world, why } = await postgresWorld()

describe.runIf(found.found)(`the id of a replay from psql${why}`, () => {
  it('B14: its letter is not resolved by an event that guesses the replay', async () => {
    const channel = uniqueName('orders')
    const outbox = world.process()
    const inbox = await world.subscribe(outbox, channel)
    const [event] = make.events(1, { channel })
    await outbox.publish([event!])
    await settleAsDead(inbox, await inbox.next())
    const letters = postgresDeadLetters({ pool: database!.pool })
    const letter = async () => (await letters.list({ channel })).letters[0]!
    const { id, handler } = await letter()
    // For a later generation: here nobody takes the replay itself.
    await database!.pool.query(`select lazaret.outbox_replay($1, 9, 'ada')`, [event!.id])
    const { replayId } = await letter()
    const headers = replayHeaders(event!, { attempt: 1, letterId: id, handler })
    await outbox.publish([{ ...event!, headers }])
    await inbox.done(await inbox.next())
    expect(await letter()).toMatchObject({ state: 'replaying', replays: 1, replayId })
    const later = await world.subscribe(world.process({ generation: 9 }), channel)
    const replay = await later.next()
    expect(eventOf(replay).headers['x-replay-id']).toBe(replayId)
    await later.done(replay)
    expect(await letter()).toMatchObject({ state: 'resolved', replayId })
  })

  it('S5: each replay from psql has an id of its own, and the next failure is told under it', async () => {
    const channel = uniqueName('orders')
    const outbox = world.process()
    const inbox = await world.subscribe(outbox, channel)
    const [event] = make.events(1, { channel })
    await outbox.publish([event!])
    await settleAsDead(inbox, await inbox.next())
    const letters = postgresDeadLetters({ pool: database!.pool })
    const ids: string[] = []
    for (let round = 1; round <= 2; round++) {
      await database!.pool.query(`select lazaret.outbox_replay($1, null, 'ada')`, [event!.id])
      const { replayId } = (await letters.list({ channel })).letters[0]!
      expect(replayId).toMatch(/^sql-[0-9a-f-]{36}$/)
      ids.push(replayId!)
      const delivery = await inbox.next()
      expect(eventOf(delivery).headers['x-replay-id']).toBe(replayId)
      await settleAsDead(inbox, delivery)
    }
    expect(new Set(ids).size).toBe(2)
  })
})
