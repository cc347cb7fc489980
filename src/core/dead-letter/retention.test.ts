import { describe, expect, it } from 'vitest'
import { isPastRetention } from './retention.ts'
import { LETTER_STATES, type LetterState } from './state.ts'
import type { TimeToLive } from './time-to-live.ts'

const NOW = 1_000_000
const due = (
  retention: Parameters<typeof isPastRetention>[1],
  expiresAt?: number,
  expiresAfterMs?: TimeToLive,
) =>
  LETTER_STATES.filter((state: LetterState) =>
    isPastRetention({ state, updatedAt: NOW - 100, expiresAt, expiresAfterMs }, retention, NOW),
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

  it("K9: 'never' on the letter keeps it until somebody has decided about it", () => {
    const both = { retentionMs: 100, expireUndecidedAfterMs: 100 } as const
    expect(due(both, undefined, 'never')).toEqual(['resolved', 'discarded'])
    expect(due(both)).toEqual(LETTER_STATES.filter(state => state !== 'replaying'))
  })

  it('R2: the time of the letter itself counts before the one for all undecided letters', () => {
    const asked = { retentionMs: 'never', expireUndecidedAfterMs: 100 } as const
    expect(due(asked, NOW + 1, 101)).toEqual([])
  })
})
