import { describe, expect, it } from 'vitest'
import { lettersQuery, queriesOf } from './screen-queries.ts'

const NOW = Date.UTC(2026, 0, 2, 12)

describe('the queries of a screen', () => {
  it('F8: the list of letters queries its filter, its page and its statistics', () => {
    const search = '?channel=orders&after=1h&cursor=abc'
    const { filter, page } = lettersQuery(search, NOW)
    expect(filter).toEqual({ channel: 'orders', after: '2026-01-02T11:00:00.000Z' })
    expect(page).toEqual({ ...filter, cursor: 'abc', limit: 200 })
    expect(queriesOf('/letters', search, NOW)).toEqual([
      { path: '/dead-letters', query: page },
      { path: '/dead-letters/stats', query: filter },
      { path: '/me' },
    ])
  })

  it.each([
    ['/', ['/groups']],
    ['/groups/g%2F1', ['/groups/g%2F1', '/dead-letters']],
    ['/letters/l1', ['/dead-letters/l1']],
    ['/letters/compare', []],
    ['/replays/new', []],
    ['/replays/r1', ['/replays/r1']],
    ['/services', ['/fleet/services']],
    ['/settings', []],
    ['/no/such/screen', []],
  ])('F8: %s asks for %j and who is looking', (path, asked) => {
    expect(queriesOf(path, '', NOW).map(each => each.path)).toEqual([...asked, '/me'])
  })
})
