import { describe, expect, it } from 'vitest'
import { storm } from './storm.ts'

/** `npm run storm` is the same with 1 000 events and 10 s. */
const WAITING = 150
const DOWN_MS = 1_000
const LIMIT = 50

describe('a storm, in real time and over real sockets', () => {
  it('E5: no second of the receiver exceeds the limit, wherever it starts; all retries arrive once, in time', async () => {
    const figures = await storm({ waiting: WAITING, downMs: DOWN_MS, limit: LIMIT })
    expect(figures).toMatchObject({ lost: 0, twice: 0, letters: 0 })
    expect(figures.mostInASecond).toBeLessThanOrEqual(LIMIT)
    // At the pace of the limit it takes two seconds and a bit; four times that is a machine with other things to do.
    expect(figures.drainedAfterMs).toBeGreaterThan(1_900)
    expect(figures.drainedAfterMs).toBeLessThan(10_000)
  })

  it('E5: without the limit the sink gets all retries at once', async () => {
    const figures = await storm({ waiting: WAITING, downMs: DOWN_MS, limit: 'off' })
    expect(figures).toMatchObject({ lost: 0, letters: 0 })
    expect(figures.mostInASecond).toBeGreaterThan(2 * LIMIT)
  })
})
