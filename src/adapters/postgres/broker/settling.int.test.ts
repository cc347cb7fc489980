import { describe, expect, it } from 'vitest'
import { make, postgresWorld } from '../../../../test/support/outbox-world.ts'
import type { Delivery, Settlement } from '../../../ports/broker.ts'
import { uniqueName } from '../../../testing/conformance/harness.ts'
import type { PgPool } from '../connection/client.ts'

const { found, database, world, why } = await postgresWorld()
const DONE = { outcome: 'done' } as const

/** The database's pool, on which these statements fail. */
function failing(isFailing: (text: string, values?: unknown[]) => boolean): PgPool {
  const pool = database!.pool
  return {
    connect: () => pool.connect(),
    query: (text, values) =>
      isFailing(text, values)
        ? Promise.reject(Object.assign(new Error('Connection terminated'), { code: 'ECONNRESET' }))
        : pool.query(text, values),
  }
}

describe.runIf(found.found)(`settlements that fail${why}`, () => {
  it.each<[string, (delivery: Delivery) => Settlement]>([
    ['done', () => DONE],
    [
      'dead',
      delivery => ({
        outcome: 'dead',
        saved: true,
        letter: make.letter({ event: delivery.content as never, channel: delivery.channel }),
      }),
    ],
  ])(
    'B8: one that says %s is not a crash, and the event is delivered again later every time',
    async (_, settlementOf) => {
      const channel = uniqueName('orders')
      const pool = failing(text => /status = '(delivered|failed)'/.test(text))
      const inbox = await world.subscribe(world.process({ pool, maxPollMs: 50 }), channel)
      await world.process().publish(make.events(1, { channel }))
      for (let failures = 0; failures < 3; failures++) {
        const delivery = await inbox.next()
        expect([delivery.started, delivery.ended]).toEqual([failures, failures])
        await inbox.subscription.begin(delivery, [])
        await expect(inbox.subscription.settle(delivery, settlementOf(delivery))).rejects.toThrow(
          'terminated',
        )
      }
      await inbox.next()
      const waits = inbox.times.slice(1).map((time, index) => time - inbox.times[index]!)
      for (const [index, leastMs] of [100, 200, 400].entries())
        expect(waits[index]).toBeGreaterThanOrEqual(leastMs)
    },
  )

  it('B8: one that cannot even be returned is not a crash either', async () => {
    const channel = uniqueName('orders')
    let isDown = false
    const pool = failing(() => isDown)
    const inbox = await world.subscribe(world.process({ pool, maxPollMs: 50, leaseMs: 900 }), channel)
    await world.process().publish(make.events(1, { channel }))
    const delivery = await inbox.next()
    await inbox.subscription.begin(delivery, [])
    isDown = true
    await expect(inbox.subscription.settle(delivery, DONE)).rejects.toThrow('terminated')
    isDown = false
    const again = await inbox.next()
    expect([again.started, again.ended]).toEqual([1, 1])
    await inbox.done(again)
  })

  it('E21: what is settled beside one that fails is settled', async () => {
    const channel = uniqueName('orders')
    const pool = failing((text, values) => /status = 'delivered'/.test(text) && values?.[2] === 1)
    const inbox = await world.subscribe(world.process({ pool, maxPollMs: 50 }), channel)
    await world.process().publish(make.events(2, { channel }))
    const [begun, other] = await inbox.take(2)
    await inbox.subscription.begin(begun!, [])
    const outcomes = await Promise.allSettled(
      [begun!, other!].map(delivery => inbox.subscription.settle(delivery, DONE)),
    )
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'fulfilled'])
  })
})
