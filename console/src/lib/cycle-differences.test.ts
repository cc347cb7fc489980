import { describe, expect, it } from 'vitest'
import type { Cycle } from '../api/types.ts'
import { cycleDifferences } from './cycle-differences.ts'

const cycle: Cycle = {
  number: 0,
  reason: 'attempts_exhausted',
  reasonText: 'Every attempt has failed.',
  category: 'unknown',
  failure: { name: 'TypeError', message: 'no total', category: 'unknown', fingerprint: 'f1' },
  attempts: [],
  attemptCount: 3,
  firstFailedAt: '2026-05-04T03:00:00.000Z',
  lastFailedAt: '2026-05-04T03:00:04.000Z',
}

describe('cycleDifferences', () => {
  it('B13: lists the fields that changed between two cycles, and those that did not', () => {
    const next: Cycle = {
      ...cycle,
      number: 1,
      attemptCount: 1,
      failure: { ...cycle.failure!, fingerprint: 'f2' },
    }
    const changed = cycleDifferences(cycle, next).filter(({ isChanged }) => isChanged)
    expect(changed.map(({ name, before, after }) => [name, before, after])).toEqual([
      ['cause', 'f1', 'f2'],
      ['attempts', '3', '1'],
    ])
  })

  it('B13: a cycle without attempts has no failure to compare', () => {
    const { failure: _, ...without } = cycle
    const error = cycleDifferences(without, cycle).find(({ name }) => name === 'error')
    expect(error).toEqual({ name: 'error', before: 'none', after: 'TypeError', isChanged: true })
  })
})
