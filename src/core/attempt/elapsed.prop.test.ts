import fc from 'fast-check'
import { expect, it } from 'vitest'
import { elapsedOf } from './elapsed.ts'

const NOON = 1_700_000_000_000
const HOUR_MS = 3_600_000

/** Attempts one after the other; the clock may be set during each attempt or wait. */
function history(steps: readonly number[]) {
  const step = fc.constantFrom(...steps)
  const attempt = fc.record({ tookMs: fc.nat(5_000), delayMs: fc.nat(60_000), inAttempt: step, inWait: step })
  return fc.array(attempt, { maxLength: 8 }).map(attempts => {
    let [now, tookMs, waitedMs] = [NOON, 0, 0]
    const past = attempts.map(attempt => {
      const startedAt = now
      now += attempt.tookMs + attempt.inAttempt
      tookMs += attempt.inAttempt === 0 ? attempt.tookMs : 0
      const endedAt = now
      now += attempt.delayMs + attempt.inWait
      waitedMs += attempt.delayMs
      return { startedAt, endedAt, delayMs: attempt.delayMs }
    })
    return { past, now, tookMs, waitedMs }
  })
}

it('E1: the elapsed time is that of the wall clock, if nobody sets it', () => {
  fc.assert(
    fc.property(history([0]), fc.nat(5_000), ({ past, now }, lastMs) => {
      expect(elapsedOf(past, now, now + lastMs)).toBe(now + lastMs - NOON)
    }),
  )
})

it('E1: a clock that is set back makes the elapsed time no shorter than the attempts and their waits', () => {
  fc.assert(
    fc.property(history([0, 0, -HOUR_MS]), fc.nat(5_000), ({ past, now, tookMs, waitedMs }, lastMs) => {
      expect(elapsedOf(past, now, now + lastMs)).toBe(tookMs + waitedMs + lastMs)
    }),
  )
})

it('E1: an attempt without an end counts up to the next one', () => {
  expect(elapsedOf([{ startedAt: NOON }], NOON + 30, NOON + 31)).toBe(31)
  expect(elapsedOf([], NOON, NOON - HOUR_MS)).toBe(0)
})
