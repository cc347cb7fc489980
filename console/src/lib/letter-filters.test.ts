import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  FILTER_NAMES,
  filterForServer,
  filterInWords,
  lettersUrl,
  planUrl,
  readFilter,
} from './letter-filters.ts'

const NOW = Date.UTC(2026, 4, 4, 3, 12, 9)
const texts = fc.record(
  Object.fromEntries(
    FILTER_NAMES.map(name => [name, fc.string({ minLength: 1 }).filter(text => text.trim() === text)]),
  ),
  { requiredKeys: [] },
)

describe('filters in the URL', () => {
  it('F8: a filter in a URL is read back from it, with any content', () => {
    fc.assert(
      fc.property(texts, filter => {
        expect(readFilter(new URL(lettersUrl(filter), 'http://x').search)).toEqual({ ...filter })
      }),
    )
    expect(lettersUrl({})).toBe('/letters')
    expect(lettersUrl({ channel: 'a&b' }, { cursor: 'x' })).toBe('/letters?channel=a%26b&cursor=x')
  })

  it('F8: other parameters stay out, and an empty field is not a filter', () => {
    expect(readFilter('?cursor=1&channel=orders&state=&constructor=1')).toEqual({ channel: 'orders' })
  })

  it('F8: a span counts back from now, a time is used as it is, and the server refuses invalid values', () => {
    expect(filterForServer({ after: '1h' }, NOW)).toEqual({ after: '2026-05-04T02:12:00.000Z' })
    expect(filterForServer({ before: '2026-05-01T00:00:00Z' }, NOW)).toEqual({
      before: '2026-05-01T00:00:00.000Z',
    })
    expect(filterForServer({ after: 'yesterday-ish' }, NOW)).toEqual({ after: 'yesterday-ish' })
  })

  it('B10: a plan selects by a filter or by ids', () => {
    expect(planUrl({ filter: { group: 'f1' } })).toBe('/replays/new?group=f1')
    expect(planUrl({ filter: {} })).toBe('/replays/new')
    expect(planUrl({ ids: ['a', 'b'] })).toBe('/replays/new?ids=a,b')
    expect(filterInWords({ channel: 'orders', state: 'dead' })).toBe('channel orders, state dead')
    expect(filterInWords({})).toBe('all letters')
  })
})
