import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { LetterFilter } from '../../ports/dead-letters.ts'
import { createFactory } from '../../testing/factories.ts'
import { compareLetters, letterPosition } from './letter-order.ts'
import { letterCursor, matchesFilter, resolveLetterFilter, resolveLetterQuery } from './letter-query.ts'
import { DEFAULT_PAGE_LIMIT } from './page.ts'

const make = createFactory()
const at = 1_767_000_000_000
const letter = make.letter({
  event: make.event({ channel: 'orders', type: 'order.placed', key: 'Customer-1' }),
  handler: 'bill',
  reason: 'permanent',
  error: Object.assign(new TypeError('No such Field'), { code: 'E_FIELD' }),
  attempts: [make.attempt(1, { startedAt: at, endedAt: at })],
})

const MATCHING: readonly LetterFilter[] = [
  {},
  { channel: 'orders', handler: 'bill', type: 'order.placed', reason: 'permanent', state: 'dead' },
  { category: letter.cycle.category },
  { group: letter.cycle.failure?.fingerprint.id },
  { after: at },
  { before: at + 1 },
  { search: 'typeERROR' },
  { search: 'such field' },
  { search: 'e_field' },
  { search: letter.event.id.toUpperCase() },
  { search: 'customer-' },
  { search: 'R.PLACED' },
]
const OTHER: readonly LetterFilter[] = [
  { channel: 'order' },
  { handler: 'ship' },
  { type: 'order' },
  { reason: 'poison' },
  { category: 'integration' },
  { state: 'parked' },
  { group: 'another' },
  { after: at + 1 },
  { before: at },
  { search: 'bill' },
  { channel: 'orders', handler: 'ship' },
]

describe('letter filter', () => {
  it.each(MATCHING)('E9: selects by %o', filter => {
    expect(matchesFilter(letter, filter)).toBe(true)
  })

  it.each(OTHER)('E9: leaves out by %o', filter => {
    expect(matchesFilter(letter, filter)).toBe(false)
  })

  it('E9: a letter without a failure has no group, and its error is found by no search', () => {
    const limited = make.letter({ failure: undefined, attempts: [], reason: 'rate_limited' })
    expect(matchesFilter(limited, { group: letter.cycle.failure!.fingerprint.id })).toBe(false)
    expect(matchesFilter(limited, { search: 'TypeError' })).toBe(false)
  })
})

describe('place in the list', () => {
  it('E10: newest failure first, then the greater id', () => {
    const places = [
      { lastFailedAt: 1, id: 'b' },
      { lastFailedAt: 2, id: 'a' },
      { lastFailedAt: 1, id: 'c' },
    ]
    expect(places.sort(compareLetters).map(place => place.id)).toEqual(['a', 'c', 'b'])
    expect(letterPosition(letter)).toEqual({ lastFailedAt: at, id: letter.id })
  })
})

describe('cursor', () => {
  it('E9: leads back to the place it was written for, whatever the place', () => {
    const times = fc.oneof(fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }))
    const filter = resolveLetterFilter({ channel: 'orders' })
    fc.assert(
      fc.property(times, fc.string({ minLength: 1 }), (lastFailedAt, id) => {
        const cursor = letterCursor({ lastFailedAt, id }, filter)
        const { startAfter } = resolveLetterQuery({ channel: 'orders', cursor })
        expect(startAfter).toEqual({ lastFailedAt: lastFailedAt + 0, id })
      }),
    )
  })

  it('E9: is refused with another filter, and when it is not a cursor', () => {
    const cursor = letterCursor(letterPosition(letter), resolveLetterFilter({ channel: 'orders' }))
    expect(() => resolveLetterQuery({ cursor })).toThrow('query.cursor')
    expect(() => resolveLetterQuery({ cursor: '1_2' })).toThrow('with the same filter')
  })
})

describe('query', () => {
  it('E9: has a limit, and its faults are told at once', () => {
    expect(resolveLetterQuery(undefined)).toMatchObject({ limit: DEFAULT_PAGE_LIMIT, startAfter: undefined })
    expect(() => resolveLetterQuery({ limit: 0, state: 'gone' as never })).toThrow(/2 faults/)
    expect(() => resolveLetterFilter({ chanel: 'orders' } as never)).toThrow("did you mean 'channel'?")
  })
})
