import { describe, expect, it } from 'vitest'
import { crashReplaying, replayOnBroken } from './replay-crash.ts'

const LETTERS = 400

describe('a replay across processes', () => {
  it('B11: the next runner finishes the replay of a killed one: the outcomes add up, and no event is handled twice', {}, async () => {
    const { state, counts, handled, handledAtKill, published } = await crashReplaying(LETTERS)
    expect(state).toBe('finished')
    expect(handledAtKill).toBeLessThan(LETTERS)
    expect(counts).toMatchObject({ recovered: LETTERS, waiting: 0, sent: 0, skipped: 0, lost: 0 })
    expect(handled).toHaveLength(LETTERS)
    expect(new Set(handled)).toEqual(published)
  })

  it('B11: a replay to a handler that still fails halts in its first stage, after 1 letter', {}, async () => {
    const { state, counts } = await replayOnBroken(LETTERS)
    expect(state).toBe('halted')
    expect(counts).toMatchObject({ failed_same_cause: 1, waiting: LETTERS - 1, sent: 0, recovered: 0 })
  })
})
