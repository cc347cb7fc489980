import { beforeAll, describe, expect, it } from 'vitest'
import { memoryStore } from '../../adapters/memory/store.ts'
import type { Group } from '../../ports/groups.ts'
import { FakeClock } from '../../testing/fake-clock.ts'
import type { ShopStore } from '../shop.ts'
import { HISTORY_MS, type History, simulateHistory } from './simulate-history.ts'
import { writeHistory } from './write-history.ts'

const NOW = 1_767_225_600_000
const DAY_MS = 86_400_000

let past: History
let store: ShopStore
let groups: readonly Group[]
beforeAll(async () => {
  past = await simulateHistory(NOW, 1)
  store = memoryStore({ clock: new FakeClock(NOW) }) as ShopStore
  await writeHistory(store, past)
  groups = (await store.groups.list()).groups
})

const groupOf = (text: string) => groups.find(({ title }) => title.includes(text))!

describe('the simulated history', () => {
  it('covers more than a day up to the last hour, with most letters in the last day', () => {
    const times = past.letters.map(({ cycle }) => cycle.lastFailedAt)
    expect(Math.min(...times)).toBeGreaterThan(NOW - HISTORY_MS)
    expect(Math.max(...times)).toBeLessThanOrEqual(NOW)
    expect(times.filter(at => at > NOW - DAY_MS).length).toBeGreaterThan(80)
    expect(times.filter(at => at > NOW - DAY_MS / 24).length).toBeGreaterThanOrEqual(5)
  })

  it('has causes older than a day, and new causes', () => {
    const areNew = groups.map(({ firstSeenAt }) => firstSeenAt > NOW - DAY_MS)
    expect(new Set(areNew)).toEqual(new Set([true, false]))
  })

  it('repeats with its seed', async () => {
    expect(await simulateHistory(NOW, 1)).toEqual(past)
  })

  it.each([1, 2, 3, 4, 5, 6])(
    'B12: tells of an outage whose letters were replayed, all but one of them well again, with seed %i',
    async seed => {
      const { replays } = await simulateHistory(NOW, seed)
      const { replay, items } = replays.at(-1)!
      const outcomes = items.map(({ status }) => status)
      expect([replay.reason, replay.state]).toEqual(['the warehouse is back', 'finished'])
      expect(outcomes.length).toBeGreaterThan(12)
      expect(outcomes.filter(status => status !== 'recovered')).toEqual(['failed_new_cause'])
    },
  )

  it('E17: has letters of both sinks from the sale, and those of analytics are resolved', () => {
    const ofSinks = past.letters.filter(({ channel }) => channel === 'tracking')
    expect(new Set(ofSinks.map(({ cycle }) => cycle.reason))).toEqual(
      new Set(['rate_limited', 'breaker_open', 'tracking_failed_in_job']),
    )
    const ofAnalytics = ofSinks.filter(({ handler }) => handler === 'analytics')
    expect(ofAnalytics.length).toBeGreaterThan(5)
    expect(ofAnalytics.filter(({ state }) => state !== 'resolved')).toEqual([])
  })

  it('K7: has snapshots in which the outage is a peak of the warehouse that has ended', async () => {
    const taken = await store.snapshots.list({ channel: 'warehouse', perChannel: 1_000 })
    expect(taken.length).toBeGreaterThan(100)
    const highest = Math.max(...taken.map(({ depth }) => depth))
    const [last] = taken
    expect(highest).toBeGreaterThan(2 * last!.depth)
    expect(NOW - taken.find(({ depth }) => depth === highest)!.at).toBeGreaterThan(8 * 3_600_000)
    expect(NOW - last!.at).toBeLessThanOrEqual(15 * 60_000)
  })

  it('has groups in every state, with owners and notes', () => {
    expect(new Set(groups.map(({ state }) => state))).toEqual(
      new Set(['open', 'acknowledged', 'muted', 'resolved']),
    )
    expect(groupOf('SchemaMismatch')).toMatchObject({ state: 'acknowledged', triage: { owner: 'ada' } })
    expect(groupOf('422').notes).toHaveLength(1)
  })

  it('has letters in every lasting state', async () => {
    const { byState, count } = await store.deadLetters.stats()
    expect(count).toBe(past.letters.length)
    expect(Object.keys(byState).sort()).toEqual(['dead', 'discarded', 'parked', 'quarantined', 'resolved'])
  })

  it('K8: has a parked letter that was replayed three times', async () => {
    const { letters } = await store.deadLetters.list({ state: 'parked' })
    expect(letters.map(({ replays, endedCycles }) => [replays, endedCycles.length])).toEqual([[3, 3]])
  })

  it('B10: has audit entries with the right actors, in the order of the actions', async () => {
    const { entries } = await store.audit.list({ limit: 1_000 })
    const times = entries.map(({ at }) => at)
    expect(times).toEqual(times.toSorted((a, b) => b - a))
    expect(new Set(entries.map(({ by }) => by))).toEqual(new Set(['ada', 'jonas', 'mira', 'lazaret demo']))
  })
})
