import { CloudEvent, HTTP } from 'cloudevents'
import { describe, expect, it } from 'vitest'
import { createFactory } from '../../testing/factories.ts'
import { fromCloudEvent, toCloudEvent } from './cloudevents.ts'
import { fromBinaryCloudEvent, toBinaryCloudEvent } from './cloudevents-binary.ts'
import { CloudEventError } from './errors.ts'

const DEFAULTS = { channel: 'orders', occurredAt: 1_000 }
const REQUIRED = { id: 'c-1', source: '/shop', type: 'order.paid', time: '2026-01-31T12:00:00.000Z' }
const { event } = createFactory()

/** The SDK types a body as unknown, and writes a text or bytes. */
function bytesOf(body: unknown): Uint8Array {
  return typeof body === 'string' ? new TextEncoder().encode(body) : (body as Uint8Array)
}

describe('P2: events of the CloudEvents SDK', () => {
  it.each<[string, unknown, unknown]>([
    ['JSON', { orderId: 17, tags: ['é', null] }, { orderId: 17, tags: ['é', null] }],
    ['a text', 'hello', 'hello'],
    ['bytes', Buffer.from([0, 255, 7]), new Uint8Array([0, 255, 7])],
    ['nothing', undefined, null],
  ])('an object of the SDK is read like its JSON form: %s', (_, data, payload) => {
    const given = new CloudEvent({ ...REQUIRED, subject: '17', sampled: true, partitionkey: 'k-1', data })
    const read = fromCloudEvent(given, DEFAULTS)
    expect(read).toMatchObject({
      id: 'c-1',
      type: 'order.paid',
      channel: 'orders',
      key: 'k-1',
      source: '/shop',
      occurredAt: Date.parse(REQUIRED.time),
      headers: { 'ce-subject': '17', 'cejson-sampled': 'true' },
    })
    expect(read.payload).toEqual(payload)
    expect(read).toEqual(fromCloudEvent(JSON.parse(JSON.stringify(given)), DEFAULTS))
  })

  it('all faults of an object of the SDK are listed, and other classes are refused', () => {
    const wrong = new CloudEvent({ ...REQUIRED, type: '', source: 'not a uri' }, false)
    expect(() => fromCloudEvent(wrong, DEFAULTS)).toThrow(/type: [\s\S]*source: /)
    expect(() => fromCloudEvent(wrong, DEFAULTS)).toThrow(CloudEventError)
    for (const other of [new Date(0), new Map(), new URL('http://shop.example'), [REQUIRED]])
      expect(() => fromCloudEvent(other, DEFAULTS)).toThrow('or a CloudEvent of the SDK')
  })

  it.each(['binary', 'structured'] as const)('the SDK reads what Lazaret writes in %s mode', mode => {
    const original = event({
      source: '/shop',
      key: 'k 1',
      payload: { a: [1, 'é'] },
      headers: { 'ce-subject': 'Ü' },
    })
    const message =
      mode === 'binary'
        ? { ...toBinaryCloudEvent(original), body: Buffer.from(toBinaryCloudEvent(original).body).toString() }
        : {
            headers: { 'content-type': 'application/cloudevents+json' },
            body: JSON.stringify(toCloudEvent(original)),
          }
    const read = HTTP.toEvent(message)
    expect(read).toBeInstanceOf(CloudEvent)
    expect(read).toMatchObject({
      id: original.id,
      type: original.type,
      source: '/shop',
      data: { a: [1, 'é'] },
    })
    const back = fromCloudEvent(read, DEFAULTS)
    expect(back).toMatchObject({ id: original.id, channel: original.channel, payload: original.payload })
  })

  it.each<[string, unknown, string]>([
    ['JSON', { orderId: 17 }, 'application/json'],
    ['bytes', new Uint8Array([0, 255, 7]), 'application/octet-stream'],
  ])('Lazaret reads what the SDK writes in binary mode: %s', (_, data, datacontenttype) => {
    const given = new CloudEvent({ ...REQUIRED, subject: '17', data, datacontenttype })
    const { headers, body } = HTTP.binary(given)
    const read = fromBinaryCloudEvent(
      { headers: headers as Record<string, string>, body: bytesOf(body) },
      DEFAULTS,
    )
    expect(read).toMatchObject({
      id: 'c-1',
      type: 'order.paid',
      source: '/shop',
      headers: { 'ce-subject': '17' },
    })
    expect(read.payload).toEqual(data)
  })
})
