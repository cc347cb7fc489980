import { describe, expect, it } from 'vitest'
import type { SubscriptionStatus } from '../../ports/broker.ts'
import { FakeClock } from '../../testing/fake-clock.ts'
import { type PersistOptions, persist } from './persist.ts'
import { StallReporter } from './stalls.ts'

/** Work that fails so many times, and what happened meanwhile. */
function failing(times: number, more: Partial<PersistOptions> = {}) {
  const clock = new FakeClock()
  const statuses: SubscriptionStatus['state'][] = []
  const triedAt: number[] = []
  const startedAt = clock.now()
  const options: PersistOptions = {
    clock,
    // The whole of each wait.
    random: () => 1,
    stalls: new StallReporter(({ state }) => statuses.push(state)),
    part: 'settlements',
    maxBackoffMs: 300,
    isOurs: () => true,
    ...more,
  }
  const done = persist(options, async () => {
    triedAt.push(clock.now() - startedAt)
    if (triedAt.length <= times) throw new Error('the server is away')
  })
  return { clock, statuses, triedAt, done }
}

describe('persist', () => {
  it('B7: it tries until it works, ever more slowly, and reports one stall and its end', async () => {
    const { clock, statuses, triedAt, done } = failing(4)
    await clock.advance(10_000)
    expect(await done).toBe(true)
    expect(triedAt).toEqual([0, 100, 300, 600, 900])
    expect(statuses).toEqual(['stalled', 'recovered'])
  })

  it('E21: a success does not end the stall of other work', async () => {
    const statuses: SubscriptionStatus['state'][] = []
    const stalls = new StallReporter(({ state }) => statuses.push(state))
    const other = {}
    stalls.stalled('settlements', other, new Error('too many events wait'))
    const { clock, done } = failing(1, { stalls })
    await clock.advance(10_000)
    expect([await done, statuses]).toEqual([true, ['stalled']])
    stalls.ended('settlements', other)
    expect(statuses).toEqual(['stalled', 'recovered'])
  })

  it('B7: a failure that is quiet is not reported, the next one is', async () => {
    const once = failing(1, { quietFailures: 1 })
    await once.clock.advance(10_000)
    expect([await once.done, once.statuses]).toEqual([true, []])
    const twice = failing(2, { quietFailures: 1 })
    await twice.clock.advance(10_000)
    expect([await twice.done, twice.statuses]).toEqual([true, ['stalled', 'recovered']])
  })

  it('B7: after each failure it repairs, then tries again', async () => {
    const repaired: unknown[] = []
    const { clock, done } = failing(2, { repair: async error => void repaired.push(error) })
    await clock.advance(10_000)
    expect(await done).toBe(true)
    expect(repaired.map(String)).toEqual(Array.from({ length: 2 }, () => 'Error: the server is away'))
  })

  it('B8: it ends without success when the delivery is not ours any more, and the stall ends', async () => {
    let isOurs = true
    const { clock, statuses, triedAt, done } = failing(9, { isOurs: () => isOurs })
    await clock.advance(150)
    isOurs = false
    await clock.advance(10_000)
    expect(await done).toBe(false)
    expect(triedAt).toEqual([0, 100])
    expect(statuses).toEqual(['stalled', 'recovered'])
  })
})
