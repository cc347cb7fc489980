import { describe, expect, it } from 'vitest'
import { isPastRetention } from './retention.ts'
import { LETTER_STATES, type LetterState } from './state.ts'

const NOW = 1_000_000
const due = (retention: Parameters<typeof isPastRetention>[1], expiresAt?: number) =>
  LETTER_STATES.filter((state: LetterState) =>
    isPastRetention({ state, updatedAt: NOW - 100, expiresAt }, retention, NOW),
  )

describe('retention', () => {
  it('E13, K9: deletes decided letters alone, from the moment their time is over', () => {
    expect(due({ retentionMs: 100, expireUndecidedAfterMs: 'never' })).toEqual(['resolved', 'discarded'])
    expect(due({ retentionMs: 101, expireUndecidedAfterMs: 'never' })).toEqual([])
    expect(due({ retentionMs: 'never', expireUndecidedAfterMs: 'never' })).toEqual([])
  })

  it('K9: deletes undecided letters only where that was asked for, and replaying ones never', () => {
    const asked = { retentionMs: 'never', expireUndecidedAfterMs: 100 } as const
    expect(due(asked)).toEqual(['dead', 'quarantined', 'parked'])
    expect(due({ ...asked, expireUndecidedAfterMs: 101 })).toEqual([])
  })

  it('R2: a time to live of its own ends any letter but a replaying one', () => {
    const never = { retentionMs: 'never', expireUndecidedAfterMs: 'never' } as const
    expect(due(never, NOW)).toEqual(LETTER_STATES.filter(state => state !== 'replaying'))
    expect(due(never, NOW + 1)).toEqual([])
  })
})
