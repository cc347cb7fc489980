import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { FakeClock } from '../../testing/fake-clock.ts'
import { type Deadline, Deadlines } from './deadlines.ts'

function deadline(expire: () => void): Deadline {
  return { expire, dueAt: 0, previous: undefined, next: undefined }
}

describe('deadlines', () => {
  it('E17: each fires when it is due or a moment later, and never when it ended in time', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({
            startMs: fc.integer({ min: 0, max: 3_000 }),
            durationMs: fc.constantFrom(1, 10, 50, 51, 500, 2_000),
            endAfterMs: fc.option(fc.integer({ min: 0, max: 3_000 }), { nil: undefined }),
          }),
          { maxLength: 30 },
        ),
        async plans => {
          const clock = new FakeClock()
          const deadlines = new Deadlines(clock)
          const fired = new Map<number, number>()
          const start = clock.now()
          for (const [index, { startMs, durationMs, endAfterMs }] of plans.entries()) {
            const lane = deadlines.lane(durationMs)
            const one = deadline(() => fired.set(index, clock.now() - start))
            clock.schedule(startMs, () => lane.start(one, clock.now()))
            if (endAfterMs !== undefined) clock.schedule(startMs + endAfterMs, () => lane.end(one))
          }
          await clock.advance(6_000)
          for (const [index, { startMs, durationMs, endAfterMs }] of plans.entries()) {
            const due = startMs + durationMs
            if (endAfterMs !== undefined && endAfterMs < durationMs) expect(fired.has(index)).toBe(false)
            else if (endAfterMs === undefined || endAfterMs > durationMs + 1) {
              expect(fired.get(index)).toBeGreaterThanOrEqual(due)
              expect(fired.get(index)).toBeLessThanOrEqual(due + 1)
            }
          }
          expect(clock.pending).toBe(0)
        },
      ),
      { numRuns: 60 },
    )
  })

  it('a clock that is set forward or back does not end what had no time to work', async () => {
    for (const jumpMs of [3_600_000, -3_600_000]) {
      const clock = new FakeClock()
      const lane = new Deadlines(clock).lane(1_000)
      let fired = false
      lane.start(
        deadline(() => {
          fired = true
        }),
        clock.now(),
      )
      await clock.advance(100)
      clock.jump(jumpMs)
      await clock.advance(800)
      expect(fired).toBe(false)
      await clock.advance(200)
      expect(fired).toBe(true)
    }
  })

  it('what starts right after the clock was set is due when its time is over, not an hour later', async () => {
    for (const jumpMs of [3_600_000, -3_600_000]) {
      const clock = new FakeClock()
      const lane = new Deadlines(clock).lane(1_000)
      const fired: string[] = []
      const start = (name: string) =>
        lane.start(
          deadline(() => fired.push(name)),
          clock.now(),
        )
      start('before')
      await clock.advance(10)
      clock.jump(jumpMs)
      start('after')
      await clock.advance(950)
      expect(fired).toEqual([])
      await clock.advance(150)
      expect(fired).toEqual(['before', 'after'])
      expect(clock.pending).toBe(0)
    }
  })

  it('a process is not held open by a long timeout of what has ended', async () => {
    const clock = new FakeClock()
    const lane = new Deadlines(clock).lane(3_600_000)
    const one = deadline(() => {})
    lane.start(one, clock.now())
    lane.end(one)
    await clock.advance(50)
    expect(clock.pending).toBe(0)
  })
})
