import { describe, expect, it } from 'vitest'
import { findByPath, matchPath } from './route.ts'

describe('paths of screens', () => {
  it.each([
    ['/letters', '/letters', []],
    ['/letters/:id', '/letters/a%2Fb', ['a/b']],
    ['/letters/:id', '/letters/100%', ['100%']],
    ['/letters/:id', '/letters', undefined],
    ['/letters/:id', '/letters/', undefined],
    ['/letters', '/letters/a', undefined],
    ['/letters', '/groups', undefined],
  ])('F8: %s beside %s is %j', (pattern, path, places) => {
    expect(matchPath(pattern, path)).toEqual(places)
  })

  it('F8: the first matching pattern wins', () => {
    const kept = { '/replays/new': 'plan', '/replays/:id': 'replay' }
    expect(findByPath(kept, '/replays/new')).toEqual({ value: 'plan', places: [] })
    expect(findByPath(kept, '/replays/r1')).toEqual({ value: 'replay', places: ['r1'] })
    expect(findByPath(kept, '/letters')).toBeUndefined()
  })
})
