import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { unwritablePayloads } from '../../testing/conformance/unwritable.ts'
import { checkEvent } from '../event/check.ts'
import { decodeEvent, encodeEvent } from '../event/json.ts'
import { WIDEST_EVENT_LIMITS } from '../event/limits.ts'
import { storableEvent } from './storable-event.ts'

const odd = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 2_000 }),
  fc.anything({ withBigInt: true, withDate: true, withMap: true, withSet: true, withTypedArray: true }),
)
const payload = fc.oneof(
  odd.map(value => () => value),
  fc.constantFrom(...Object.keys(unwritablePayloads())).map(what => () => unwritablePayloads()[what]),
)

describe('storable events', () => {
  it('P2: whatever an event is made of, a store can write it and read it back', () => {
    const field = fc.option(odd, { nil: undefined })
    fc.assert(
      fc.property(
        fc.record({ id: odd, type: odd, channel: odd, key: field, idempotencyKey: odd, occurredAt: odd }),
        fc.record({
          expiresAt: field,
          source: field,
          headers: fc.oneof(odd, fc.dictionary(fc.string(), odd)),
        }),
        payload,
        (names, rest, makePayload) => {
          const given = { v: 1, ...names, ...rest, payload: makePayload() }
          const { event } = storableEvent(given as never)
          expect(checkEvent(event, WIDEST_EVENT_LIMITS)).toEqual([])
          expect(decodeEvent(encodeEvent(event))).toEqual(event)
        },
      ),
      { numRuns: 300 },
    )
  })

  it.each([
    ['that ends with a separator once it is cut', `${'a'.repeat(119)}, b`, 'a'.repeat(119)],
    ['that is no text', Object.create(null), 'unknown'],
  ])('P2: a channel %s gets a name that a store takes', (_, channel, expected) => {
    const given = { v: 1, id: 'a', type: 'b', channel, headers: {}, payload: 1n }
    const { event } = storableEvent(given as never)
    expect(event.channel).toBe(expected)
    expect(checkEvent(event, WIDEST_EVENT_LIMITS)).toEqual([])
  })
})
