import { describe, expect, it } from 'vitest'
import type { LazaretEvent } from '../event/event.ts'
import { replayHeaders } from '../event/replay-headers.ts'
import { createLetter, type LetterInput } from './create.ts'
import { decodeLetter, encodeLetter } from './json.ts'
import { mergeLetter } from './merge.ts'
import { transition } from './transition.ts'
import { isVerified, splitVerified } from './verify.ts'

const event: LazaretEvent = {
  v: 1,
  id: 'e1',
  type: 'order.paid',
  channel: 'orders',
  idempotencyKey: 'e1',
  occurredAt: 1,
  headers: {},
  payload: 'original',
}
const letterOf = (input: Partial<LetterInput> = {}) =>
  createLetter({ event, handler: 'mailer', reason: 'permanent', at: 100, ...input })
const claimed = (replay: number, replayId: string, at = 300) =>
  letterOf({ replay, replayId, at, isUnverified: true })
const replaying = transition(letterOf(), 'replaying', 200, 'r1')
const known = (letter = replaying) => Promise.resolve(letter)

describe('a letter whose replay nobody could check', () => {
  it('B14: says so, also after it was stored', () => {
    expect(isVerified(letterOf({ replay: 1 }))).toBe(true)
    expect(isVerified(claimed(1, 'r1'))).toBe(false)
    expect(decodeLetter(encodeLetter(claimed(1, 'r1'))).cycle).toStrictEqual(claimed(1, 'r1').cycle)
  })

  it('B14: is the next cycle of a letter that knows the replay', async () => {
    expect(await splitVerified(claimed(1, 'r1'), () => known())).toStrictEqual([
      letterOf({ replay: 1, replayId: 'r1', at: 300 }),
    ])
  })

  it.each([
    ['another replay id', claimed(1, 'forged')],
    ['a replay that has not begun', claimed(99, 'r1')],
  ])('B14: is the failure of the plain event when it claims %s', async (_, letter) => {
    expect(await splitVerified(letter, () => known())).toStrictEqual([letterOf({ at: 300 })])
    expect(await splitVerified(letter, () => Promise.resolve(undefined))).toStrictEqual([
      letterOf({ at: 300 }),
    ])
  })

  it.each([
    ['before', [claimed(1, 'forged', 240), claimed(1, 'r1', 300)]],
    ['after', [claimed(1, 'r1', 300), claimed(1, 'forged', 340)]],
    ['before and after', [claimed(1, 'x', 240), claimed(1, 'r1', 300), claimed(1, 'y', 340)]],
  ])('B14: is its replay, though a spill got a forged one of the same number %s it', async (_, spilled) => {
    const together = spilled.reduce((known, each) => mergeLetter(known, each))
    expect(decodeLetter(encodeLetter(together))).toEqual(together)
    const [told, ...more] = await splitVerified(together, () => known())
    expect([told?.cycle.number, told?.cycle.replayId, more]).toEqual([1, 'r1', []])
    expect(isVerified(told!)).toBe(true)
    expect(mergeLetter(replaying, told!).state).toBe('dead')
  })

  it('B14: is its replay, though a spill got forged ones of the same and of a higher number before', async () => {
    const spilled = [claimed(2, 'forged', 320), claimed(1, 'forged', 330), claimed(1, 'r1', 300)]
    const together = spilled.reduce((known, each) => mergeLetter(known, each))
    const told = await splitVerified(together, () => known())
    expect(told.map(({ cycle }) => [cycle.number, cycle.replayId])).toEqual([
      [1, 'r1'],
      [0, undefined],
    ])
    expect(told.reduce((known, each) => mergeLetter(known, each), replaying).state).toBe('dead')
  })

  it('B14: is the failure of the plain event when it claims an older replay under an id that the letter does not know', async () => {
    const second = transition({ ...replaying, state: 'dead' }, 'replaying', 250, 'r2')
    const [told] = await splitVerified(claimed(1, 'guessed'), () => known(second))
    expect(told).toMatchObject({ cycle: { number: 0 }, replays: 0 })
  })

  it('B14: is an older cycle of a letter that knows the replay', async () => {
    const failed = mergeLetter(replaying, letterOf({ replay: 1, replayId: 'r1', at: 220 }))
    const second = transition(failed, 'replaying', 250, 'r2')
    const [told] = await splitVerified(claimed(1, 'r1'), () => known(second))
    expect(told).toMatchObject({ cycle: { number: 1, replayId: 'r1' } })
  })

  it('B7, B14: each cycle that a spill put together is judged on its own', async () => {
    const second = transition({ ...replaying, state: 'dead' }, 'replaying', 250, 'r2')
    const spilled = [
      letterOf({ at: 100 }),
      claimed(1, 'r1', 240),
      claimed(2, 'r2', 300),
      claimed(9, 'x', 400),
    ]
    const together = spilled.slice(1).reduce((known, each) => mergeLetter(known, each), spilled[0]!)
    const told = await splitVerified(together, () => known(second))
    expect(told.map(({ cycle, replays, state }) => [cycle.number, replays, state])).toEqual([
      [0, 0, 'dead'],
      // Nothing says any more that there was a replay r1: what failed is kept, as a failure of the plain event.
      [0, 0, 'dead'],
      [2, 2, 'dead'],
      [0, 0, 'dead'],
    ])
    expect(told.every(isVerified)).toBe(true)
    const merged = told.reduce((known, each) => mergeLetter(known, each), second)
    expect(merged).toMatchObject({ state: 'dead', replays: 2, cycle: { number: 2, replayId: 'r2' } })
  })

  it('B14: a forged claim beside the real replay does not hide it, whichever comes first', async () => {
    const real = letterOf({ replay: 1, replayId: 'r1', at: 400 })
    for (const [first, second] of [
      [claimed(1, 'forged'), real],
      [real, claimed(1, 'forged')],
    ] as const)
      expect(mergeLetter(replaying, mergeLetter(first, second))).toMatchObject({
        state: 'dead',
        cycle: { number: 1, replayId: 'r1' },
      })
  })

  it('B14: of a redirected replay, the letter that it came from tells', async () => {
    const origin = letterOf()
    const headers = replayHeaders(event, { attempt: 1, replayId: 'r1', letterId: origin.id })
    const redirected = { ...event, channel: 'refunds', headers }
    const letter = letterOf({ event: redirected, replay: 1, replayId: 'r1', isUnverified: true })
    const asked: string[] = []
    const [told] = await splitVerified(letter, id => {
      asked.push(id)
      return known()
    })
    expect(asked).toEqual([origin.id])
    expect(told).toMatchObject({ id: letter.id, cycle: { number: 1 } })
  })
})
