import { describe, expect, it } from 'vitest'
import { make, postgresWorld, settleAsDead } from '../../../../test/support/outbox-world.ts'
import { claimOf } from '../../../core/dead-letter/change.ts'
import { replayHeaders, replayOf } from '../../../core/event/replay-headers.ts'
import { systemClock } from '../../../ports/clock.ts'
import { eventOf } from '../../../testing/conformance/broker/world.ts'
import { uniqueName } from '../../../testing/conformance/harness.ts'
import { postgresDeadLetters } from '../index.ts'

const { found, database, world, why } = await postgresWorld()

interface LetterRow {
  readonly id: string
  readonly state: string
  readonly body: string
}

/** A replay of an event whose letter is kept here. A program that does not know the form of the letter has got the replay. */
async function replayOfUnreadable(redirectedTo?: string) {
  const channel = uniqueName('orders')
  const errors: unknown[] = []
  const outbox = world.process({ onError: error => errors.push(error) })
  const inbox = await world.subscribe(outbox, channel)
  const event = make.event({ channel })
  await outbox.publish([event])
  await settleAsDead(inbox, await inbox.next())
  const letter = async () =>
    (
      await database!.rows<LetterRow>('select id, state, body from lazaret.dead_letters where channel = $1', [
        channel,
      ])
    )[0]!
  const { id, body } = await letter()
  const setBody = (text: string) =>
    database!.pool.query('update lazaret.dead_letters set body = $2 where id = $1', [id, text])
  if (redirectedTo === undefined)
    await database!.pool.query(`select lazaret.outbox_replay($1, null, 'ada')`, [event.id])
  else {
    const letters = postgresDeadLetters({ pool: database!.pool })
    await letters.change(id, { to: 'replaying', at: systemClock.now(), replayId: 'replay-1' })
  }
  await setBody('a form of the future')
  return { outbox, inbox, event, errors, letter, id, restore: () => setBody(body) }
}

describe.runIf(found.found)(`a replay whose letter cannot be read${why}`, () => {
  it('E10: is done once it was handled, resolves its letter and reports that', async () => {
    const { inbox, event, errors, letter, id, restore } = await replayOfUnreadable()
    await inbox.done(await inbox.next())
    expect(await world.rows(event.id)).toMatchObject([{ status: 'delivered' }])
    await inbox.assertEmpty('it came again')
    expect(errors).toEqual([expect.objectContaining({ message: expect.stringContaining(id) })])
    expect(await letter()).toMatchObject({ state: 'resolved', body: 'a form of the future' })
    await restore()
    const letters = postgresDeadLetters({ pool: database!.pool })
    expect(await letters.get(id)).toMatchObject({ state: 'resolved', replays: 1 })
  })

  it('E10: does not resolve its letter by a replay that the letter does not know', async () => {
    const channel = uniqueName('elsewhere')
    const { outbox, event, errors, letter, id } = await replayOfUnreadable(channel)
    const inbox = await world.subscribe(outbox, channel)
    const headers = replayHeaders(event, { attempt: 1, letterId: id, replayId: 'forged' })
    await outbox.publish([{ ...event, channel, headers }])
    await inbox.done(await inbox.next())
    expect(await letter()).toMatchObject({ state: 'replaying' })
    expect(errors).toEqual([])
  })

  it('E10: fails in another channel, and brings its letter back', async () => {
    const channel = uniqueName('elsewhere')
    const { outbox, event, letter, id } = await replayOfUnreadable(channel)
    const inbox = await world.subscribe(outbox, channel)
    const headers = replayHeaders(event, { attempt: 1, letterId: id, replayId: 'replay-1' })
    await outbox.publish([{ ...event, channel, headers }])
    await settleAsDead(inbox, await inbox.next())
    expect(await letter()).toMatchObject({ state: 'dead' })
  })

  it('E10: is done for a consumer that saves letters here by itself', async () => {
    const { inbox, letter, id } = await replayOfUnreadable()
    const event = eventOf(await inbox.next())
    const errors: unknown[] = []
    const letters = postgresDeadLetters({ pool: database!.pool, onError: error => errors.push(error) })
    const onlyIfSentBy = claimOf(event, replayOf(event)!)
    const resolved = { to: 'resolved', at: systemClock.now(), onlyIfSentBy } as const
    expect(await letters.change(id, resolved)).toBeUndefined()
    expect(await letter()).toMatchObject({ state: 'resolved' })
    expect(errors).toHaveLength(1)
  })
})
