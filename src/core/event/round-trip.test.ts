import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkEvent } from './check.ts'
import { fromCloudEvent, toCloudEvent } from './cloudevents.ts'
import type { LazaretEvent } from './event.ts'
import { decodeEvent, encodeEvent } from './json.ts'
import { MAX_TIME_MS } from './uuid.ts'

const word = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
  .filter(text => !/\p{Cc}/u.test(text))
const time = fc.integer({ min: 0, max: MAX_TIME_MS })
const oneOrNone = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined })

/** Names and values that look like what a mapping makes of other things are the ones that could be mixed up. */
const headerName = fc.oneof(
  fc.stringMatching(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,12}$/).filter(name => name !== '__proto__'),
  fc.constantFrom('traceparent', 'tracestate', 'ce-time', 'ce-expirytime', 'ce-subject', 'cejson-subject'),
  fc.constantFrom(
    'ce-x',
    'cejson-x',
    'ce-id',
    'ce-data',
    'ce-lazaretheaders',
    'ce-constructor',
    'constructor',
  ),
)
const headerValue = fc.oneof(
  fc.string({ unit: 'grapheme' }).filter(text => !text.includes('\0')),
  fc.constantFrom('', 'true', '7', '-0', '1e3', 'null', 'NaN', 'a\nb', '2026-01-31T12:00:00+01:00'),
)
const odd = fc.constantFrom(
  '__proto__',
  'constructor',
  '$bytes',
  'payloadBase64',
  'data_base64',
  'toString',
  '',
)
const payload = fc.oneof(
  fc.jsonValue(),
  fc.dictionary(odd, fc.jsonValue()),
  fc.uint8Array(),
  fc.constant({ payloadBase64: 'AAAA' }),
  fc.constant(JSON.parse('{"__proto__":{"polluted":true}}')),
)
const event: fc.Arbitrary<LazaretEvent> = fc
  .record({
    v: fc.constant(1 as const),
    id: word,
    type: word,
    channel: fc.stringMatching(/^[A-Za-z0-9](?:[A-Za-z0-9_-]{0,10}[a-z0-9])?$/),
    key: oneOrNone(word),
    idempotencyKey: word,
    occurredAt: fc.oneof(time, fc.constant(Date.parse('2026-01-31T11:00:00Z'))),
    expiresAt: oneOrNone(fc.oneof(time, fc.constant(Date.parse('2026-01-31T11:00:00Z')))),
    source: oneOrNone(fc.oneof(fc.webUrl(), fc.constantFrom('/lazaret/orders', 'a'))),
    headers: fc.dictionary(headerName, headerValue, { noNullPrototype: true, maxKeys: 8 }),
    payload,
  })
  .filter(each => checkEvent(each).length === 0)

describe('whatever form an event takes, it comes back as it was', () => {
  it('K8: as stored JSON', () => {
    fc.assert(
      fc.property(event, each => isDeepStrictEqual(decodeEvent(encodeEvent(each)), plain(each))),
      { numRuns: 500 },
    )
  })

  it('K8: as a CloudEvent, also after its own trip through JSON', () => {
    const defaults = { channel: 'elsewhere', occurredAt: 1 }
    fc.assert(
      fc.property(event, each => {
        const cloudEvent = toCloudEvent(each)
        const stored: unknown = JSON.parse(JSON.stringify(cloudEvent))
        expect(isDeepStrictEqual(fromCloudEvent(stored, defaults), plain(each))).toBe(true)
      }),
      { numRuns: 500 },
    )
  })

  it('K8: decoding never touches a prototype', () => {
    const decoded = decodeEvent(
      '{"v":1,"id":"a","type":"t","channel":"c","idempotencyKey":"a","occurredAt":1,"headers":{},' +
        '"__proto__":{"key":"k"},"payload":{"__proto__":{"polluted":true}}}',
    )
    expect(decoded.key).toBeUndefined()
    expect(Object.hasOwn(decoded.payload as object, '__proto__')).toBe(true)
    expect(Object.getPrototypeOf(decoded.payload)).toBe(Object.prototype)
    expect('polluted' in {}).toBe(false)
  })
})

/** Generated objects may lack a prototype; those of JSON have one. The comparison is about contents. */
function plain(each: LazaretEvent): LazaretEvent {
  const isBytes = each.payload instanceof Uint8Array
  return { ...each, payload: isBytes ? each.payload : JSON.parse(JSON.stringify(each.payload)) }
}
