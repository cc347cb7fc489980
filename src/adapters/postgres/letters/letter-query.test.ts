import { expect, it } from 'vitest'
import { Conditions } from '../connection/conditions.ts'
import { addFilter } from './letter-query.ts'

it('F1: LIKE compares the start of a long text only, because it takes very long for some patterns', () => {
  const short = addFilter(new Conditions(), { search: '50%_\\' })
  expect([short.text, short.values]).toEqual(['search like $1::text', ['%50\\%\\_\\\\%']])
  const search = '🎈'.repeat(100)
  const long = addFilter(new Conditions(), { search })
  expect(long.text).toBe('search like $1::text and position($2::text in search) > 0')
  expect(long.values).toEqual([`%${'🎈'.repeat(64)}%`, search])
})
