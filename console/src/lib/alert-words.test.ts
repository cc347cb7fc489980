import { expect, it } from 'vitest'
import type { ChannelAlert } from '../api/types.ts'
import { alertPath, alertWords } from './alert-words.ts'

const alert: ChannelAlert = {
  store: 'main',
  channel: 'orders & more',
  rule: 'depth',
  since: '2026-01-01T00:00:00.000Z',
  value: 1_312,
  limit: 100,
}

it('K7: an alert names the problem, the limit and the page to open', () => {
  expect(alertWords(alert)).toBe('1 312 letters waiting (limit 100)')
  expect(alertWords({ ...alert, value: 1 })).toBe('Back under the limit: 1 letter waiting (limit 100)')
  expect(alertPath(alert)).toBe('/groups?channel=orders+%26+more')
  expect(alertWords({ ...alert, rule: 'age', value: 7_500_000, limit: 1_800_000 })).toBe(
    'Oldest has waited 2 h 5 min (limit 30 min)',
  )
  const dominant = {
    ...alert,
    rule: 'dominance',
    value: 0.82,
    limit: 0.5,
    error: { fingerprint: 'a b', name: 'TypeError' },
  } as const
  expect(alertWords(dominant)).toBe('TypeError: 82 % of letters (limit 50 %)')
  expect(alertPath(dominant)).toBe('/groups/a%20b')
})
