import { expect, it } from 'vitest'
import { EMPTY_LOG } from '../../../../adapter-kit/delivery/tracked-delivery.ts'
import { endOfWait } from '../../../../adapter-kit/ordered/end-of-wait.ts'
import { monotonicNow } from '../../../../ports/clock.ts'
import { FakeClock } from '../../../../testing/fake-clock.ts'
import { header, OWN } from '../wire/headers.ts'
import { readHeld, waitingRecord } from './held-record.ts'

const PLACE = { line: 'a', place: 7, topic: 'x', firstPlace: 0 }

it('B3: the wait of a held event with a fraction is kept, and not shorter than it was', () => {
  const message = { key: Buffer.from('a'), value: null, headers: [] }
  const held = { ...PLACE, id: 'one', notBefore: 10_499.6, waitMs: 499.6 }
  const record = waitingRecord('x:7', held, message, { topic: 'orders' }, EMPTY_LOG)
  expect(readHeld(record)).toMatchObject({ state: 'waiting', notBefore: 10_500, waitMs: 500 })
})

it('B3: a held event without the length of its wait, as earlier builds wrote it, waits until its time', () => {
  const state = { ...PLACE, id: 'one', state: 'waiting', notBefore: 10_000 }
  const headers = [header(OWN.held, JSON.stringify(state))]
  const held = readHeld({ key: Buffer.from('x:7'), value: Buffer.alloc(0), headers })!
  const clock = new FakeClock(4_000)
  expect(endOfWait(clock, held) - monotonicNow(clock)).toBe(6_000)
})
