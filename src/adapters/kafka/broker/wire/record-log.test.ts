import { expect, it } from 'vitest'
import { EMPTY_LOG } from '../../../../adapter-kit/delivery/tracked-delivery.ts'
import { header, OWN } from './headers.ts'
import { readLog, waitLeftMs, withLog } from './record-log.ts'

const ORIGIN = { broker: 'kafka', topic: 'orders', partition: 2, offset: 7, timestamp: 1_000 }

function waiting(wait: { notBefore: number; waitMs: number } | undefined) {
  const message = { key: null, value: null, headers: [] }
  const place = { topic: 'orders.mail.retry.5s', partition: 2, offset: 0, timestamp: 9_000, bytes: 100 }
  return { ...place, ...withLog(message, ORIGIN, { ...EMPTY_LOG, started: 1 }, wait) }
}

it('B3: a wait gets shorter with time, and a clock that is set back does not make it longer than at first', () => {
  const log = readLog('kafka', waiting({ notBefore: 15_000, waitMs: 5_000 }))
  expect(log.origin).toEqual(ORIGIN)
  expect(log.log.started).toBe(1)
  expect(waitLeftMs(log, 12_000)).toBe(3_000)
  expect(waitLeftMs(log, 1_000)).toBe(5_000)
  expect(waitLeftMs(readLog('kafka', waiting(undefined)), 1_000)).toBeLessThanOrEqual(0)
})

it('B3: a wait with a fraction is kept, and not shorter than it was', () => {
  const log = readLog('kafka', waiting({ notBefore: 10_499.6, waitMs: 499.6 }))
  expect(waitLeftMs(log, 10_000)).toBe(500)
})

it('B3: a wait without a length, as earlier builds wrote it, lasts until its time, and not for longer than an hour', () => {
  const headers = [header(OWN.log, JSON.stringify({ topic: 'orders', notBefore: 15_000 }))]
  const log = readLog('kafka', { ...waiting(undefined), headers })
  expect(waitLeftMs(log, 12_000)).toBe(3_000)
  expect(waitLeftMs({ ...log, notBefore: 36_000_000 }, 12_000)).toBe(3_600_000)
})
