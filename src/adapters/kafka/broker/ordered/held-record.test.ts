import { expect, it } from 'vitest'
import { EMPTY_LOG } from '../../../../adapter-kit/delivery/tracked-delivery.ts'
import { readHeld, waitingRecord } from './held-record.ts'

it('B3: the wait of a held event with a fraction is kept, and not shorter than it was', () => {
  const message = { key: Buffer.from('a'), value: null, headers: [] }
  const held = { line: 'a', place: 7, id: 'one', notBefore: 10_499.6, waitMs: 499.6 }
  const record = waitingRecord('x:7', held, message, { topic: 'orders' }, EMPTY_LOG)
  expect(readHeld(record)).toMatchObject({ state: 'waiting', notBefore: 10_500, waitMs: 500 })
})
