import { describe, expect, it } from 'vitest'
import { resolveRetryLimit } from '../../limiters.ts'
import { StartWindow } from './retry-window.ts'

describe('the window of retries', () => {
  it('E4: a write that hangs keeps the room of its own retries, and not that of others', () => {
    const window = new StartWindow(resolveRetryLimit({ perSecond: 10 }))
    const hanging = window.add(2)
    const quick = window.add(8)
    expect([window.room(0), window.roomAt]).toEqual([0, undefined])
    quick.ended(100)
    expect([window.room(1_100), window.roomAt]).toEqual([0, 1_101])
    expect(window.room(1_101)).toBe(8)
    hanging.ended(60_000)
    expect([window.room(61_000), window.room(61_001)]).toEqual([8, 10])
  })
})
