import { describe, expect, it } from 'vitest'
import { advance, IDLE, moveClock, notBefore, type Rate, rate, withoutReservations } from './gcra.ts'

const NOON = Date.UTC(2026, 0, 1, 12)

/** Takes turns without waiting, as an entry limit does; returns how many were admitted. */
function rush(limit: Rate, tat: number, now: number, count: number): [admitted: number, tat: number] {
  let [admitted, next] = [0, tat]
  for (let i = 0; i < count; i++) {
    if (notBefore(limit, next, now) > now) continue
    next = advance(limit, next, now)
    admitted++
  }
  return [admitted, next]
}

describe('token bucket', () => {
  it('E14: of 1500 at once against 1000/s, 1000 go through, whatever the time of day', () => {
    const limit = rate({ perSecond: 1_000 })
    for (const now of [0, 3, 12_345, NOON, NOON + 1, NOON + 0.7]) {
      expect(rush(limit, IDLE, now, 1_500)[0]).toBe(1_000)
    }
  })

  it('E14: a burst comes back at the rate', () => {
    const limit = rate({ perSecond: 1_000 })
    const [, tat] = rush(limit, IDLE, NOON, 1_500)
    expect(rush(limit, tat, NOON + 1, 10)[0]).toBe(1)
    expect(rush(limit, tat, NOON + 100, 500)[0]).toBe(100)
    expect(rush(limit, tat, NOON + 3_600_000, 5_000)[0]).toBe(1_000)
  })

  it('E14: the burst is one second’s worth unless given, and never below 1', () => {
    expect(rate({ perSecond: 1_000 })).toEqual({ perSecond: 1_000, burst: 1_000, intervalMs: 1 })
    expect(rate({ perSecond: 2.5 }).burst).toBe(2)
    expect(rate({ perSecond: 0.1 }).burst).toBe(1)
    expect(rate({ perSecond: 10, burst: 3 }).burst).toBe(3)
  })

  it('E14: says when one more is allowed', () => {
    const limit = rate({ perSecond: 4, burst: 2 })
    const [, tat] = rush(limit, IDLE, NOON, 2)
    expect(notBefore(limit, tat, NOON)).toBe(NOON + 250)
    expect(notBefore(limit, tat, NOON + 250)).toBe(NOON + 250)
  })

  it('E14: slower than one a second works too', () => {
    const limit = rate({ perSecond: 0.1 })
    const tat = advance(limit, IDLE, NOON)
    expect(notBefore(limit, tat, NOON + 1)).toBe(NOON + 10_000)
    expect(rush(limit, tat, NOON + 9_999, 1)[0]).toBe(0)
    expect(rush(limit, tat, NOON + 10_000, 1)[0]).toBe(1)
  })

  it('E14: a clock set back by an hour does not refuse events for an hour', () => {
    const limit = rate({ perSecond: 100, burst: 5 })
    const [, tat] = rush(limit, IDLE, NOON, 5)
    const earlier = NOON - 3_600_000
    expect(notBefore(limit, tat, earlier)).toBeGreaterThan(earlier + 3_500_000)
    expect(notBefore(limit, withoutReservations(limit, tat, earlier), earlier)).toBe(earlier + 10)
    expect(withoutReservations(limit, tat, NOON)).toBe(tat)
  })

  it('E5: reservations keep their distance when the clock is set', () => {
    const limit = rate({ perSecond: 8, burst: 1 })
    let tat = IDLE
    for (let i = 0; i < 5; i++) tat = advance(limit, tat, NOON)
    const moved = moveClock(limit, tat, NOON, NOON - 7_777)
    expect(notBefore(limit, moved, NOON - 7_777) - (NOON - 7_777)).toBe(notBefore(limit, tat, NOON) - NOON)
  })
})
