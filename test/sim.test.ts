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
  }, 120_000)

  const against = (...checkers: readonly string[]) =>
    outcomes.flatMap(({ seed, violations }) =>
      violations
        .filter(({ checker }) => checkers.includes(checker))
        .map(({ message }) => `${message}; repeat it with: npm run sim -- --seed ${seed}`),
    )
  const count = (what: NewFact['what']) =>
    outcomes.reduce((sum, { history }) => sum + history.of(what).length, 0)

  it('are stormy: processes crash, calls fail, clocks are set, letters are spilled', () => {
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
    const published = outcomes.flatMap(({ history }) => history.of('published'))
    expect(published.filter(({ follows }) => follows !== undefined).length).toBeGreaterThan(50)
    expect(published.filter(({ isForged }) => isForged === true).length).toBeGreaterThan(20)
    const spilled = outcomes.flatMap(({ history }) =>
      history.of('saved').filter(({ where }) => where === 'spill'),
    )
    expect(spilled.length).toBeGreaterThan(10)
  })

  it('E21: come to rest when faults stop, with nothing stuck', () => {
    expect(against('completion')).toEqual([])
  })

  it('E21, K10, B7: lose no event: each is done, or a letter in the store', () => {
    expect(against('noLoss')).toEqual([])
  })

  it('E21: settle nothing as done that its handler has not handled', () => {
    expect(against('settlements')).toEqual([])
  })

  it('S8: do once what a ledger watches over', () => {
    expect(against('singleEffect')).toEqual([])
  })

  it('F1, B8: make no more attempts than the policy says, those of crashed processes included', () => {
    expect(against('attempts', 'attemptCounts')).toEqual([])
  })

  it('B9: keep the order of a key', () => {
    expect(against('order')).toEqual([])
  })

  it('K5, B8: quarantine what kills processes, and finish everything else', () => {
    expect(against('poison')).toEqual([])
  })

  it('E4: start retries no faster than the retry limit', () => {
    expect(against('retryRate')).toEqual([])
  })

  it('E16, K4: let nothing through an open breaker', () => {
    expect(against('breaker')).toEqual([])
  })

  it('P2: tell the whole story in every letter', () => {
    expect(against('letters')).toEqual([])
  })

  it('E17: have a true outcome for every tracked event and sink, within the bounds of each lane', () => {
    expect(against('sinks', 'lanes')).toEqual([])
  })

  it('E21: lose no event that a handler publishes, whatever headers it copies', () => {
    expect(against('followUps')).toEqual([])
  })

  it('change no letter except by its own event, its replay or a person', () => {
    expect(against('letterChanges')).toEqual([])
  })

  it('S8: never run two attempts of one event and handler at once', () => {
    expect(against('overlap')).toEqual([])
  })

  it('leave nothing behind when they are closed', () => {
    expect(against('shutdown')).toEqual([])
  })
})

describe('the simulator', () => {
  it('tells the same story for the same seed, and another for another', async () => {
    const story = async (seed: number) =>
      [...describePlan(drawPlan(seed)), ...(await simulate(seed)).history.facts.map(describeFact)].join('\n')
    const first = await story(42)
    expect(await story(42)).toBe(first)
    expect(await story(43)).not.toBe(first)
  })
})
