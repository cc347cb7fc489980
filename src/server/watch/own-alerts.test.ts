import { describe, expect, it } from 'vitest'
import { watchingWorld } from '../../../test/support/watching-world.ts'
import { memorySink, memoryStore } from '../../adapters/memory/index.ts'
import { alertOf } from '../../core/alert/document.ts'
import { createNotifier } from '../../integrations/notify/index.ts'
import { FakeClock } from '../../testing/fake-clock.ts'
import { seededRandom } from '../../testing/seeded-random.ts'
import { flakySink } from '../../testing/sinks.ts'

const HOUR_MS = 3_600_000

describe('alerts that do not arrive', () => {
  it('S7, K7: are letters of a channel that is watched, and alerts about it do not feed on themselves', async () => {
    const clock = new FakeClock()
    const random = seededRandom(5)
    const store = memoryStore({ clock })
    const gone = () => Object.assign(new Error('no_service'), { status: 404 })
    const notifier = createNotifier({
      to: { chat: flakySink(memorySink(), gone), pager: flakySink(memorySink(), gone) },
      deadLetters: store.deadLetters,
      clock,
      random,
    })
    const watch = { depth: 0, dominanceOver: 0 }
    const world = watchingWorld({ stores: store, clock, notifier, watch })
    await world.ask('/healthz')
    await notifier.notify({ kind: 'breaker_opened', at: 0, name: 'payments' })
    const told = async () => {
      const { letters } = await store.deadLetters.list({ limit: 1_000 })
      return letters.map(({ event }) => alertOf(event)!.kind).sort()
    }
    await clock.advance(HOUR_MS)
    // Each for both targets; of the breaker alone both are told that it did not reach the other, and that this is over.
    const expected = [
      ...Array(4).fill('alert_undelivered'),
      ...Array(2).fill('breaker_opened'),
      ...Array(3 * 2).fill('channel_alert'),
    ]
    expect(await told()).toEqual(expected)
    await clock.advance(6 * HOUR_MS)
    expect(await told()).toEqual(expected)
    await world.server.close()
    await notifier.close()
  })
})
