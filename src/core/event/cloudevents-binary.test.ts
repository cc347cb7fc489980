import { describe, expect, it } from 'vitest'
import { createFactory } from '../../testing/factories.ts'
import { type BinaryCloudEventInput, fromBinaryCloudEvent, toBinaryCloudEvent } from './cloudevents-binary.ts'
import { CloudEventError } from './errors.ts'

const defaults = { channel: 'orders', occurredAt: 1_000 }
const { event } = createFactory()
const bytes = (text: string) => new TextEncoder().encode(text)
const text = (body: Uint8Array) => new TextDecoder().decode(body)
const required = { 'ce-specversion': '1.0', 'ce-id': 'c-1', 'ce-source': '/shop', 'ce-type': 'order.paid' }

describe('P2: a CloudEvent in binary mode', () => {
  it('has its attributes in headers and its data in the body', () => {
    const { headers, body } = toBinaryCloudEvent(event({ id: 'e-1', source: '/shop', payload: { a: 1 } }))
    expect(headers).toMatchObject({
      'ce-specversion': '1.0',
      'ce-id': 'e-1',
      'ce-source': '/shop',
      'ce-type': 'order.placed',
      'content-type': 'application/json',
    })
    expect(headers).not.toHaveProperty('ce-data')
    expect(text(body)).toBe('{"a":1}')
  })

  it.each<[string, Parameters<typeof event>[0]]>([
    ['JSON', { payload: { a: [1, 'é', null] } }],
    ['a text', { payload: 'plain' }],
    ['bytes', { payload: new Uint8Array([0, 255, 7]) }],
    ['nothing', { payload: null }],
    ['XML', { payload: '<a/>', headers: { 'ce-datacontenttype': 'application/xml' } }],
    ['a source, a key and a time to live', { source: '/shop', key: 'k 1', expiresAt: 1_900_000_000_000 }],
    [
      'headers of its own',
      { headers: { 'X-Tenant': 'a "b" 100 % Ü', traceparent: '00-1-2-03', 'ce-subject': '17' } },
    ],
  ])('gives the same event when it is read back: %s', (_, input) => {
    const original = event(input)
    expect(fromBinaryCloudEvent(toBinaryCloudEvent(original), defaults)).toEqual(original)
  })

  const types = [
    'application/json',
    'application/octet-stream',
    'application/x-ndjson',
    'application/json; charset=utf-16',
    'text/plain',
    'text/plain; charset=iso-8859-1',
    'application/xml',
    'image/png',
  ]
  it.each(
    [undefined, ...types].flatMap(type =>
      [
        { a: 1 },
        'hi',
        '',
        '\ud800 half a pair',
        7,
        '7',
        null,
        new Uint8Array([1, 255]),
        new Uint8Array(),
      ].map(payload => [type, payload] as const),
    ),
  )('gives the same event when its type is %s and its payload %j', (type, payload) => {
    const original = event({ payload, headers: type === undefined ? {} : { 'ce-datacontenttype': type } })
    expect(fromBinaryCloudEvent(toBinaryCloudEvent(original), defaults)).toEqual(original)
  })

  it('reads a text in another charset than UTF-8 as bytes', () => {
    const headers = { ...required, 'content-type': 'text/plain; charset="ISO-8859-1"' }
    const body = new Uint8Array([0xe4])
    expect(fromBinaryCloudEvent({ headers, body }, defaults).payload).toEqual(body)
  })

  it.each<[string, unknown, RegExp]>([
    ['nothing', null, /headers: got undefined; give/],
    [
      'headers of fetch',
      { headers: new Headers(required), body: bytes('1') },
      /headers: .*Object\.fromEntries/,
    ],
    ['a header that is null', { headers: { ...required, 'ce-x': null }, body: bytes('1') }, /ce-x: got null/],
    ['a header that is a number', { headers: { ...required, 'ce-x': 5 }, body: bytes('1') }, /ce-x: got 5/],
    ['a list of objects', { headers: { ...required, 'ce-x': [{}] }, body: bytes('1') }, /ce-x: got/],
    [
      'two ids',
      { headers: { ...required, 'CE-ID': 'c-2' }, body: bytes('1') },
      /ce-id: got "c-2"; give it once/,
    ],
    ['no body', { headers: required }, /body: got undefined; give/],
    ['a body of text', { headers: required, body: '1' }, /body: got "1"; give/],
    [
      'an unknown kind of data',
      { headers: { ...required, 'ce-lazaretdata': 'x' }, body: bytes('1') },
      /lazaretdata: got "x"/,
    ],
    [
      'faults everywhere',
      { headers: { 'ce-id': 'c-1', 'ce-type': 't' }, body: bytes('{') },
      /data[\s\S]*specversion[\s\S]*source/,
    ],
  ])('is refused with one clear error: %s', (_, input, message) => {
    const read = () => fromBinaryCloudEvent(input as BinaryCloudEventInput, defaults)
    expect(read).toThrow(CloudEventError)
    expect(read).toThrow(message)
  })

  it('escapes what a header cannot carry, as the HTTP binding says', () => {
    const { headers } = toBinaryCloudEvent(event({ headers: { 'ce-subject': 'Euro € 😀 "5 %"' } }))
    expect(headers['ce-subject']).toBe('Euro%20%E2%82%AC%20%F0%9F%98%80%20%225%20%25%22')
    expect(Object.values(headers).join('')).toMatch(/^[\x20-\x7e]*$/)
  })

  it('is read whatever the case of its headers, and with quoted or unescaped values', () => {
    const headers = {
      ...required,
      'CE-Subject': '"a \\"b\\""',
      'ce-note': '100%',
      'Content-Type': 'application/json',
    }
    const read = fromBinaryCloudEvent({ headers, body: bytes('7') }, defaults)
    expect(read).toMatchObject({ payload: 7, headers: { 'ce-subject': 'a "b"', 'ce-note': '100%' } })
  })

  it.each([
    ['application/vnd.shop+json; charset=utf-8', '{"a":1}', { a: 1 }],
    ['text/plain', 'hello', 'hello'],
    ['image/png', 'x', bytes('x')],
  ])('reads data of type %s', (contentType, body, payload) => {
    const headers = { ...required, 'content-type': contentType }
    const read = fromBinaryCloudEvent({ headers, body: bytes(body) }, defaults)
    expect(read.payload).toEqual(payload)
    expect(read.headers).toEqual({ 'ce-datacontenttype': contentType })
  })

  it('takes channel and time from the defaults when it names none', () => {
    const read = fromBinaryCloudEvent({ headers: required, body: new Uint8Array() }, defaults)
    expect(read).toMatchObject({
      channel: 'orders',
      occurredAt: 1_000,
      idempotencyKey: '/shop|c-1',
      payload: null,
    })
  })

  it('is refused with all its faults', () => {
    const headers = { 'ce-id': 'c-1', 'ce-type': 't', 'content-type': 'application/json' }
    const read = () => fromBinaryCloudEvent({ headers, body: bytes('1') }, defaults)
    expect(read).toThrow(CloudEventError)
    expect(read).toThrow(/specversion[\s\S]*source/)
  })

  it('is refused when its JSON cannot be read', () => {
    const headers = { ...required, 'content-type': 'application/json' }
    expect(() => fromBinaryCloudEvent({ headers, body: bytes('{') }, defaults)).toThrow(/data: .*give JSON/)
  })

  it('takes no data from headers', () => {
    const headers = { ...required, 'ce-data': 'forged', 'ce-data_base64': 'AAAA' }
    expect(fromBinaryCloudEvent({ headers, body: bytes('1') }, defaults).payload).toBe(1)
  })
})
