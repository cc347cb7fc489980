import { describe, expect, it } from 'vitest'
import { make, postgresWorld, timing } from '../../../../test/support/outbox-world.ts'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import { replayHeaders } from '../../../core/event/replay-headers.ts'
import { type Clock, systemClock } from '../../../ports/clock.ts'
import { eventOf, idOf } from '../../../testing/conformance/broker/world.ts'
import { uniqueName } from '../../../testing/conformance/harness.ts'
import type { PgPool } from '../connection/client.ts'
import { type PostgresOptions, postgresDeadLetters } from '../index.ts'

const { found, database, world, why } = await postgresWorld()
const HOUR_MS = 3_600_000
const clockOff = (ms: number): Clock => ({ ...systemClock, now: () => systemClock.now() + ms })

/** A delivery by key whose letter is saved already, and a later event of its key. */
async function deliveryWithLetter(options: Partial<PostgresOptions> = {}) {
  const channel = uniqueName('orders')
  const outbox = world.process(options)
  const inbox = await world.subscribe(outbox, channel, { ordering: 'by-key' })
  const [event, next] = make.events(2, { channel, key: 'a' })
  await outbox.publish([event!, next!])
  const delivery = await inbox.next()
  await inbox.subscription.begin(delivery, [])
  const { clock = systemClock } = options
  const letterNow = () => {
    const at = clock.now()
    const attempts = [make.attempt(1, { startedAt: at, endedAt: at })]
    return make.letter({ event: eventOf(delivery), channel, at, attempts })
  }
  const letter = letterNow()
  const headers = replayHeaders(event!, { handler: 'bill', replayId: 'replay-1' })
  const settleWith = async (saved: DeadLetter) =>
    inbox.subscription.settle(delivery, { outcome: 'dead', letter: saved, saved: true })
  const settle = () => settleWith(letter)
  /** Settles it as dead because of an attempt that ends now. */
  const fail = () => settleWith(letterNow())
  return {
    outbox,
    inbox,
    event: event!,
    next: next!,
    replay: { ...event!, headers },
    letter,
    settleWith,
    settle,
    fail,
  }
}

async function discard({ id }: DeadLetter): Promise<void> {
  const at = systemClock.now()
  await postgresDeadLetters({ pool: database!.pool }).change(id, { to: 'discarded', at })
}

describe.runIf(found.found)(`a letter that is changed before its event is settled as dead${why}`, () => {
  it('B9: its replay is delivered behind the events of the key', async () => {
    const { outbox, inbox, event, next, replay, settle } = await deliveryWithLetter()
    await outbox.publish([replay])
    await settle()
    const overtaking = await inbox.next()
    expect(idOf(overtaking)).toBe(next.id)
    await inbox.done(overtaking)
    const again = await inbox.next()
    expect(eventOf(again)).toMatchObject({ id: event.id, headers: replay.headers })
    await inbox.done(again)
  })

  it('B9: its replay is delivered when both are committed at the same moment', async () => {
    const { inbox, event, next, replay, settle } = await deliveryWithLetter()
    const { pool, commit } = slowToCommit()
    const publishing = world.process({ pool }).publish([replay])
    await commit.asked
    let isSettled = false
    const settling = settle().finally(() => {
      isSettled = true
    })
    await timing.eventually(async () => isSettled || (await isWaiting()), 'the settlement waits')
    commit.goOn()
    await Promise.all([publishing, settling])
    await inbox.done(await inbox.next())
    expect(idOf(await inbox.next())).toBe(event.id)
    expect(inbox.all.map(idOf)).toEqual([event.id, next.id, event.id])
  })

  it('B9: discarding it unblocks its key', async () => {
    const { inbox, next, letter, settle } = await deliveryWithLetter()
    await postgresDeadLetters({ pool: database!.pool }).send(letter)
    await discard(letter)
    await settle()
    expect(idOf(await inbox.next())).toBe(next.id)
  })

  it('B9: its key stays blocked when the letter that was discarded is of an earlier failure', async () => {
    const { inbox, letter, settle } = await deliveryWithLetter()
    await postgresDeadLetters({ pool: database!.pool }).send(letter)
    await discard(letter)
    const earlier = `update lazaret.dead_letters set last_failed_at = '2020-01-01' where id = $1`
    await database!.pool.query(earlier, [letter.id])
    await settle()
    await inbox.assertEmpty('its key went on')
  })

  it('B9: unblocking its key counts, wherever the letter is', async () => {
    const { outbox, inbox, event, next, settle } = await deliveryWithLetter()
    await outbox.unblockKey(event.channel, event.id, 'bill')
    await inbox.assertEmpty('its key went on before it was dead')
    await settle()
    expect(idOf(await inbox.next())).toBe(next.id)
  })

  it.each([
    ['asks', 'an hour behind', 0, -HOUR_MS],
    ['asks', 'an hour ahead', 0, HOUR_MS],
    ['has the event', 'an hour behind', -HOUR_MS, 0],
    ['has the event', 'an hour ahead', HOUR_MS, 0],
  ])(
    'B9: unblocking its key counts when the clock of the process that %s is %s',
    async (_who, _how, own, asking) => {
      const { inbox, event, next, settle } = await deliveryWithLetter({ clock: clockOff(own) })
      await world.process({ clock: clockOff(asking) }).unblockKey(event.channel, event.id, 'bill')
      await settle()
      expect(idOf(await inbox.next())).toBe(next.id)
    },
  )

  it('B9: unblocking its key counts when the attempt that failed was made by a machine whose clock is ahead', async () => {
    const { outbox, inbox, event, next, settleWith, letter } = await deliveryWithLetter()
    await outbox.unblockKey(event.channel, event.id, 'bill')
    await settleWith({ ...letter, cycle: { ...letter.cycle, lastFailedAt: letter.createdAt + HOUR_MS } })
    expect(idOf(await inbox.next())).toBe(next.id)
  })

  it('B9: unblocking its key counts when both are committed at the same moment', async () => {
    const { pool, commit } = slowToCommit()
    const { inbox, event, next, settle } = await deliveryWithLetter({ pool })
    const settling = settle()
    await commit.asked
    let isOver = false
    const unblocking = world
      .process()
      .unblockKey(event.channel, event.id, 'bill')
      .finally(() => {
        isOver = true
      })
    await timing.eventually(async () => isOver || (await isWaiting()), 'the request waits')
    commit.goOn()
    await Promise.all([settling, unblocking])
    expect(idOf(await inbox.next())).toBe(next.id)
  })

  it.each([
    ['equal', 0, 0],
    ['an hour behind', -HOUR_MS, 0],
    ['an hour ahead', HOUR_MS, 0],
    ['an hour behind that of the process that asks', 0, HOUR_MS],
  ])(
    'B9: its key stays blocked when only an earlier failure of it was unblocked (clock %s)',
    async (_how, own, asking) => {
      const { inbox, event, fail } = await deliveryWithLetter({ clock: clockOff(own) })
      await world.process({ clock: clockOff(asking) }).unblockKey(event.channel, event.id, 'bill')
      const earlier = `update lazaret.outbox set unblocked_at = unblocked_at - interval '1 minute' where event_id = $1`
      await database!.pool.query(earlier, [event.id])
      await fail()
      await inbox.assertEmpty('its key went on')
    },
  )

  it('B9: its key stays blocked when it was unblocked for another handler', async () => {
    const { outbox, inbox, event, settle } = await deliveryWithLetter()
    await outbox.unblockKey(event.channel, event.id, 'ship')
    await settle()
    await inbox.assertEmpty('its key went on')
  })

  it('B9: its key stays blocked when nobody has changed it', async () => {
    const { inbox, letter, next, settle } = await deliveryWithLetter()
    await postgresDeadLetters({ pool: database!.pool }).send(letter)
    await settle()
    await inbox.assertEmpty('its key went on')
    await discard(letter)
    expect(idOf(await inbox.next())).toBe(next.id)
  })
})

/** The database's pool, whose transactions commit only after `goOn`. */
function slowToCommit() {
  const asked = Promise.withResolvers<void>()
  const allowed = Promise.withResolvers<void>()
  const pool: PgPool = {
    query: (text, values) => database!.pool.query(text, values),
    async connect() {
      const client = await database!.pool.connect()
      return {
        on: (event, listener) => client.on(event, listener),
        removeListener: (event, listener) => client.removeListener(event, listener),
        release: isBroken => client.release(isBroken),
        async query(text, values) {
          if (text === 'commit') {
            asked.resolve()
            await allowed.promise
          }
          return client.query(text, values)
        },
      }
    },
  }
  return { pool, commit: { asked: asked.promise, goOn: () => allowed.resolve() } }
}

/** Whether a transaction of this database waits for a lock of another one. */
async function isWaiting(): Promise<boolean> {
  const waiting = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  return (await database!.rows(waiting)).length > 0
}
