import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, it } from 'vitest'
import { describeFact, describePlan } from '../sim/describe.ts'
import { drawPlan } from '../sim/draw-plan.ts'
import type { NewFact } from '../sim/history.ts'
import { simulate, type WorldResult } from '../sim/simulate.ts'

const FIRST_SEED = 1
const WORLDS = 300

/** A short form of `npm run sim`: the same worlds every time. What each line below guards is told in docs/testing.md. */
describe(`${WORLDS} simulated worlds`, () => {
  const outcomes: WorldResult[] = []

  beforeAll(async () => {
    for (let seed = FIRST_SEED; seed < FIRST_SEED + WORLDS; seed++) outcomes.push(await simulate(seed))
  })

  const against = (...checkers: readonly string[]) =>
    outcomes.flatMap(({ seed, violations }) =>
      violations
        .filter(({ checker }) => checkers.includes(checker))
        .map(({ message }) => `${message}; repeat it with: npm run sim -- --seed ${seed}`),
    )
  const count = (what: NewFact['what']) =>
    outcomes.reduce((sum, { history }) => sum + history.of(what).length, 0)

  it('contain faults: processes crash, calls fail, clocks change, letters are spilled', () => {
    for (const what of [
      'fault',
      'machineCrashed',
      'connectionLost',
      'jumped',
      'killed',
      'claimed',
      'unblockKey',
      'reported',
      'broke',
    ] as const)
      expect(count(what), what).toBeGreaterThan(50)
    for (const what of ['commandClaimed', 'executed', 'replayPlanned', 'resent', 'item', 'left'] as const)
      expect(count(what), what).toBeGreaterThan(50)
    const published = outcomes.flatMap(({ history }) => history.of('published'))
    expect(published.filter(({ follows }) => follows !== undefined).length).toBeGreaterThan(50)
    expect(published.filter(({ isForged }) => isForged === true).length).toBeGreaterThan(20)
    expect(published.filter(({ by }) => by !== undefined).length).toBeGreaterThan(50)
    const spilled = outcomes.flatMap(({ history }) =>
      history.of('saved').filter(({ where }) => where === 'spill'),
    )
    expect(spilled.length).toBeGreaterThan(10)
  })

  it('E21: become idle after the faults stop, with no event stuck', () => {
    expect(against('completion')).toEqual([])
  })

  it('E21, K10, B7: lose no event: each is done or a letter', () => {
    expect(against('noLoss')).toEqual([])
  })

  it('E21: settle an event as done only after its handler succeeded', () => {
    expect(against('settlements')).toEqual([])
  })

  it('S8: have each effect once with a ledger', () => {
    expect(against('singleEffect')).toEqual([])
  })

  it('F1, B8: make no more attempts than the policy allows, including those of crashed processes', () => {
    expect(against('attempts', 'attemptCounts')).toEqual([])
  })

  it('B9: keep the order of a key', () => {
    expect(against('order')).toEqual([])
  })

  it('K5, B8: quarantine events that crash processes, and finish all others', () => {
    expect(against('poison')).toEqual([])
  })

  it('E4: start retries no faster than the retry limit allows', () => {
    expect(against('retryRate')).toEqual([])
  })

  it('E16, K4: admit no attempt through an open breaker', () => {
    expect(against('breaker')).toEqual([])
  })

  it('P2: have the full history in every letter', () => {
    expect(against('letters')).toEqual([])
  })

  it('E17: have a true outcome for every tracked event and sink, within the bounds of each lane', () => {
    expect(against('sinks', 'lanes')).toEqual([])
  })

  it('E21: lose no event that a handler publishes, whatever headers it copies', () => {
    expect(against('followUps')).toEqual([])
  })

  it('B14: change a letter only through its own event, its replay or a person', () => {
    expect(against('letterChanges')).toEqual([])
  })

  it('S8: never run two attempts of one event and handler at once', () => {
    expect(against('overlap')).toEqual([])
  })

  it('B17: execute each command once, record its outcome, and audit it with the name of the person', () => {
    expect(against('commands')).toEqual([])
  })

  it('B18: send each letter of a replay back once through the fleet, and let no replay stand still', () => {
    expect(against('fleetReplays')).toEqual([])
  })

  it('E21: leave nothing behind after a close', () => {
    expect(against('shutdown')).toEqual([])
  })
})

describe('the simulator', () => {
  it('has no fleet in the worlds that the tables of docs/testing.md name from before there were fleets', () => {
    const page = readFileSync(new URL('../docs/testing.md', import.meta.url), 'utf8')
    const tables = page.slice(page.indexOf('### Each checker'), page.indexOf('Worlds with a fleet came last'))
    const rows = tables.split('\n').filter(line => line.startsWith('|') && line.includes('`'))
    const seeds = rows.flatMap(row =>
      [...row.split('|').at(-2)!.matchAll(/\d+/g)].map(([seed]) => Number(seed)),
    )
    expect(seeds.length).toBeGreaterThan(80)
    expect(seeds.filter(seed => drawPlan(seed).fleet !== undefined)).toEqual([])
    const some = Array.from({ length: 1_000 }, (_, index) => drawPlan(1_000_000 + index).fleet)
    expect(some.filter(fleet => fleet !== undefined).length).toBeLessThan(333)
  })

  it('produces the same history for the same seed, and another for another seed', async () => {
    const story = async (seed: number) =>
      [...describePlan(drawPlan(seed)), ...(await simulate(seed)).history.facts.map(describeFact)].join('\n')
    const first = await story(42)
    expect(await story(42)).toBe(first)
    expect(await story(43)).not.toBe(first)
  })
})
