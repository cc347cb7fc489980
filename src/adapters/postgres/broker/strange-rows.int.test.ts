import { describe, expect, it } from 'vitest'
import { make, postgresWorld, timing } from '../../../../test/support/outbox-world.ts'
import { eventOf } from '../../../testing/conformance/broker/world.ts'
import { uniqueName } from '../../../testing/conformance/harness.ts'

const { found, database, world, why } = await postgresWorld()

const insert = (channel: string, key: string, at: string) =>
  database!.pool.query(
    `insert into lazaret.outbox (channel, type, key, payload, next_attempt_at) values ($1, 'order.placed', $2, '{}', $3)`,
    [channel, key, at],
  )

describe.runIf(found.found)(`rows that other programs insert${why}`, () => {
  it.each(['before', 'after'])('B9: an empty key is not a key, %s its handler is known', async when => {
    const channel = uniqueName('orders')
    const subscribe = () => world.subscribe(world.process({ maxPollMs: 50 }), channel, { ordering: 'by-key' })
    const early = when === 'after' ? await subscribe() : undefined
    await insert(channel, '', 'now')
    await insert(channel, '', 'now')
    const inbox = early ?? (await subscribe())
    await inbox.take(2)
  })

  it('B9: an empty key of a published event is not a key either', async () => {
    const channel = uniqueName('orders')
    const outbox = world.process({ maxPollMs: 50 })
    const inbox = await world.subscribe(outbox, channel, { ordering: 'by-key' })
    await outbox.publish([1, 2].map(() => ({ ...make.event({ channel }), key: '' })))
    await inbox.take(2)
  })

  it('E21: one whose transaction began before there was a handler is not left for when nothing else is to do', async () => {
    const channel = uniqueName('orders')
    const slow = await database!.pool.connect()
    await slow.query('begin')
    await slow.query(
      `insert into lazaret.outbox (channel, type, payload) values ($1, 'order.placed', '{}')`,
      [channel],
    )
    const outbox = world.process({ maxPollMs: 50, leaseMs: 300 })
    const inbox = await world.subscribe(outbox, channel, { prefetch: 1 })
    await outbox.publish(make.events(1, { channel }))
    await inbox.next()
    await slow.query('commit')
    slow.release()
    const forNobody = 'select 1 from lazaret.outbox where channel = $1 and target is null'
    await timing.eventually(
      async () => (await database!.rows(forNobody, [channel])).length === 0,
      'it has a handler, though there is no room for it',
    )
  })

  it.each(['by-key', 'none'] as const)(
    'S1: one that waits endlessly does not delay the others (%s)',
    async ordering => {
      const channel = uniqueName('orders')
      const errors: unknown[] = []
      const outbox = world.process({ maxPollMs: 50, onError: error => errors.push(error) })
      const inbox = await world.subscribe(outbox, channel, { ordering })
      await insert(channel, 'a', 'infinity')
      await inbox.assertEmpty('it came before its time')
      await insert(channel, 'b', '-infinity')
      expect(eventOf(await inbox.next()).key).toBe('b')
      expect(errors).toEqual([])
    },
  )
})

describe.runIf(found.found)(`claims that fail${why}`, () => {
  it('S1: are told, and made again', async () => {
    const channel = uniqueName('orders')
    const { pool } = database!
    const errors: unknown[] = []
    let isFailing = true
    const outbox = world.process({
      maxPollMs: 50,
      onError: error => errors.push(error),
      pool: {
        connect: () => pool.connect(),
        query: (text, values) =>
          isFailing && text.startsWith('with alive')
            ? Promise.reject(new Error('permission denied'))
            : pool.query(text, values),
      },
    })
    const inbox = await world.subscribe(outbox, channel)
    await insert(channel, 'a', 'now')
    await timing.eventually(() => errors.length > 1, 'two claims have failed')
    expect(errors[0]).toMatchObject({
      code: 'LAZARET_STORE_FAILED',
      message: expect.stringContaining('permission denied'),
    })
    isFailing = false
    await inbox.next()
  })
})
