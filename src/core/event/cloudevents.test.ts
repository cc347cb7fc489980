import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fromCloudEvent, toCloudEvent } from './cloudevents.ts'
import { CloudEventError } from './errors.ts'

const DEFAULTS = { channel: 'orders', occurredAt: 1_000 }
const FOREIGN = { specversion: '1.0', id: '7', source: '/erp', type: 'order.paid' }

function faultsOf(value: unknown): readonly string[] {
  try {
    fromCloudEvent(value, DEFAULTS)
  } catch (error) {
    expect(error).toBeInstanceOf(CloudEventError)
    expect((error as CloudEventError).code).toBe('LAZARET_CLOUDEVENT_INVALID')
    return (error as CloudEventError).faults.map(fault => fault.path)
  }
  return []
}

describe('writing a CloudEvent', () => {
  it('B13: uses the documented attributes and extensions, and its own for the rest', () => {
    const event = fromCloudEvent(FOREIGN, DEFAULTS)
    const headers = {
      traceparent: '00-ab-cd-01',
      'ce-subject': 'o/7',
      'cejson-sampled': 'true',
      'X-Tenant': 'eu',
    }
    const written = toCloudEvent({ ...event, key: 'c1', expiresAt: 2_000, headers, payload: { total: 1 } })
    expect(written).toStrictEqual({
      specversion: '1.0',
      id: '7',
      source: '/erp',
      type: 'order.paid',
      time: '1970-01-01T00:00:01.000Z',
      partitionkey: 'c1',
      expirytime: '1970-01-01T00:00:02.000Z',
      lazaretchannel: 'orders',
      lazaretidempotencykey: '/erp|7',
      lazaretheaders: '{"X-Tenant":"eu"}',
      traceparent: '00-ab-cd-01',
      subject: 'o/7',
      sampled: true,
      data: { total: 1 },
    })
  })

  it('B13: an event without a source gets one, and loses it again when read', () => {
    const event = { ...fromCloudEvent(FOREIGN, DEFAULTS), source: undefined }
    expect(toCloudEvent(event)).toMatchObject({ source: '/lazaret/orders', lazaretnosource: true })
    expect(fromCloudEvent(toCloudEvent(event), DEFAULTS).source).toBeUndefined()
  })
})

describe('reading a foreign CloudEvent', () => {
  it('S8: source and id together are what must be done once', () => {
    expect(fromCloudEvent(FOREIGN, DEFAULTS)).toStrictEqual({
      v: 1,
      id: '7',
      type: 'order.paid',
      channel: 'orders',
      key: undefined,
      idempotencyKey: '/erp|7',
      occurredAt: 1_000,
      expiresAt: undefined,
      source: '/erp',
      headers: {},
      payload: null,
    })
  })

  it('K8: every attribute survives the way in and out, spelling and type included', () => {
    const reserved =
      /^(specversion|id|source|type|time|data|partitionkey|expirytime|trace(parent|state)|lazaret.*)$/
    const name = fc.oneof(
      fc.stringMatching(/^[a-z0-9]{1,20}$/).filter(each => !reserved.test(each)),
      fc.constantFrom('subject', 'dataschema', 'datacontenttype', 'constructor', 'lazaretfuture'),
    )
    const text = fc.string({ unit: 'grapheme', minLength: 1 }).filter(each => !/\p{Cc}/u.test(each))
    const scalar = fc.oneof(text, fc.boolean(), fc.integer())
    const when = fc.constantFrom(
      '2026-01-31T12:00:00Z',
      '2026-01-31T12:00:00.123456+02:00',
      '2026-01-31t12:00:00.000z',
    )
    const data = fc.oneof(
      fc.record({ data: fc.jsonValue() }),
      fc.uint8Array().map(bytes => ({ data_base64: Buffer.from(bytes).toString('base64') })),
      fc.constant({}),
    )
    const foreign = fc
      .tuple(
        fc.dictionary(name, scalar),
        data,
        fc.record({ time: when, expirytime: when, partitionkey: text }, { requiredKeys: [] }),
      )
      .map(([extensions, body, optional]) => ({ ...extensions, ...FOREIGN, ...optional, ...body }))
      .filter(
        each =>
          !['subject', 'dataschema', 'datacontenttype'].some(attribute => isOtherThanText(each, attribute)),
      )
    fc.assert(
      fc.property(foreign, each => {
        expect(toCloudEvent(fromCloudEvent(each, DEFAULTS))).toMatchObject(each)
      }),
      { numRuns: 500 },
    )
  })

  it('F7: everything that is wrong is told at once, in the words of CloudEvents', () => {
    const wrong = {
      specversion: '0.3',
      id: '',
      time: 'yesterday',
      expirytime: 5,
      partitionkey: 7,
      traceparent: '',
      data: { a: 1n },
      data_base64: 'no',
      subject: '',
      ExtName: 'x',
      nested: {},
      half: 0.5,
      lazaretheaders: '[]',
    }
    expect(faultsOf(wrong).toSorted()).toEqual(
      [
        'ExtName',
        'data_base64',
        'data_base64',
        'expirytime',
        'half',
        'id',
        'lazaretheaders',
        'nested',
        'partitionkey',
      ].concat(['source', 'specversion', 'subject', 'time', 'traceparent', 'type']),
    )
    expect(faultsOf({ ...FOREIGN, data: { a: [Number.NaN] } })).toEqual(['data.a[0]'])
    expect(faultsOf({ ...FOREIGN, lazaretchannel: 'a b' })).toEqual(['lazaretchannel'])
  })

  it('F7: an attribute and a packed header that disagree are refused', () => {
    const packed = { ...FOREIGN, subject: 'a', lazaretheaders: '{"ce-subject":"b"}' }
    expect(faultsOf(packed)).toEqual(['lazaretheaders'])
    expect(faultsOf({ ...FOREIGN, lazaretheaders: '{"__proto__":"b"}' })).toEqual(['headers'])
  })

  it('F7: null means absent', () => {
    expect(fromCloudEvent({ ...FOREIGN, subject: null, time: null, data: null }, DEFAULTS).headers).toEqual(
      {},
    )
  })

  it('F7: hostile values are refused, never thrown through', () => {
    const throwing = Object.defineProperty({ ...FOREIGN }, 'id', {
      enumerable: true,
      get: () => JSON.parse(''),
    })
    const unprintable = { ...FOREIGN, id: { toString: () => JSON.parse('') } }
    for (const value of [undefined, null, 1, 'x', [], new Date(0), throwing, unprintable]) {
      expect(faultsOf(value)).not.toEqual([])
    }
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.anything()),
        value => void faultsOf({ ...FOREIGN, ...value }),
      ),
    )
  })
})

function isOtherThanText(value: object, attribute: string): boolean {
  const found: unknown = Object.entries(value).find(([name]) => name === attribute)?.[1]
  return found !== undefined && typeof found !== 'string'
}
