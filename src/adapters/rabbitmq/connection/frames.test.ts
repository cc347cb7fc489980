import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Outgoing } from '../broker/wire/event-codec.ts'
import { keepTable, rawHeaders } from '../broker/wire/table.ts'
import { typedText } from '../letters/header-types.ts'
import { Frames } from './frames.ts'

// Read back by the client itself.
const require = createRequire(import.meta.url)
const client = require(join(dirname(require.resolve('amqplib')), 'lib/frame.js')) as {
  parseFrame(bytes: Buffer, most: number): { payload: Buffer; rest: Buffer } | false
  decodeFrame(frame: object): { channel: number; fields?: Record<string, unknown>; content?: Buffer }
}

function read(bytes: Buffer) {
  const frames = []
  for (let rest = bytes; rest.length > 0; ) {
    const frame = client.parseFrame(rest, 0)
    if (frame === false) throw new Error(`${rest.length} bytes are no frame`)
    frames.push({ ...client.decodeFrame(frame), payload: frame.payload })
    rest = frame.rest
  }
  return frames
}

/** Not by the client, which loses a header named `__proto__`. */
function headersIn(payload: Buffer): [string, unknown][] {
  const properties = { headers: {} }
  keepTable(properties, payload)
  return rawHeaders(properties)!.map(({ name, value }) => {
    const { text, type } = typedText(value)!
    return [name, type === 'S' ? text : JSON.parse(text)]
  })
}

const text = fc.string({ unit: 'grapheme', maxLength: 20 })
const maybe = fc.option(text, { nil: undefined })
const header = fc.oneof(text, fc.boolean(), fc.integer())
const message: fc.Arbitrary<Outgoing> = fc.record({
  route: fc.record({ exchange: text, routingKey: text }),
  content: fc.uint8Array({ maxLength: 300 }).map(bytes => Buffer.from(bytes)),
  properties: fc.record({
    contentType: maybe,
    contentEncoding: maybe,
    headers: fc.option(fc.dictionary(text, header, { maxKeys: 5, noNullPrototype: true }), {
      nil: undefined,
    }),
    deliveryMode: fc.constantFrom(1, 2),
    correlationId: maybe,
    replyTo: maybe,
    messageId: maybe,
    timestamp: fc.option(fc.nat({ max: 2 ** 53 - 1 }), { nil: undefined }),
    type: maybe,
    appId: maybe,
  }),
})

function withHeader(name: string, value: unknown): Outgoing {
  const properties = { deliveryMode: 2, headers: Object.fromEntries([[name, value]]) }
  return { route: { exchange: '', routingKey: 'q' }, content: Buffer.from('{}'), properties }
}

describe('frames of messages', () => {
  it('F1: the client reads them as they were written, one after the other', () => {
    fc.assert(
      fc.property(fc.array(message, { minLength: 1, maxLength: 3 }), messages => {
        const frames = new Frames(65_536)
        for (const each of messages) expect(frames.add(7, each)).toBe(true)
        const seen = read(frames.take())
        expect(frames.isEmpty).toBe(true)
        for (const { route, content, properties } of messages) {
          const [method, header] = seen.splice(0, 2)
          expect(method).toMatchObject({ channel: 7, fields: { ...route, mandatory: true } })
          for (const [name, value] of Object.entries(properties))
            if (name !== 'headers') expect(header?.fields?.[name], name).toEqual(value)
          if (properties.headers !== undefined)
            expect(headersIn(header!.payload)).toEqual(Object.entries(properties.headers))
          if (content.length > 0) expect(seen.shift()?.payload.equals(content)).toBe(true)
        }
        expect(seen).toEqual([])
      }),
      { examples: [[[withHeader('__proto__', 'kept')]], [[withHeader('__proto__', 3)]]] },
    )
  })

  it.each<[string, Partial<Outgoing['properties']>]>([
    ['a table within a header', { headers: { 'x-death': [{ queue: 'q' }] } }],
    ['a large number', { headers: { count: 2 ** 40 } }],
    ['a fraction', { headers: { share: 0.5 } }],
    ['a time to live', { expiration: '100' }],
    ['a text that is too long', { messageId: 'x'.repeat(256) }],
    ['a name that is too long', { headers: { ['x'.repeat(256)]: 'y' } }],
    ['an impossible time', { timestamp: -1 }],
  ])('F1: %s is left to the client, and nothing of it is written', (_, properties) => {
    const frames = new Frames(65_536)
    const route = { exchange: '', routingKey: 'q' }
    expect(
      frames.add(1, { route, content: Buffer.from('x'), properties: { deliveryMode: 2, ...properties } }),
    ).toBe(false)
    expect(frames.isEmpty).toBe(true)
  })

  it('B16: a message that cannot be written leaves nothing of itself before the next one', () => {
    const frames = new Frames(1_000)
    const route = { exchange: '', routingKey: 5 as never }
    expect(() =>
      frames.add(1, { route, content: Buffer.from('a'), properties: { deliveryMode: 2 } }),
    ).toThrow(TypeError)
    expect(frames.isEmpty).toBe(true)
  })

  it('F1: what there is no room for is not written', () => {
    const frames = new Frames(1_000)
    const route = { exchange: '', routingKey: 'q' }
    const properties = { deliveryMode: 2 }
    expect(frames.add(1, { route, content: Buffer.alloc(500), properties })).toBe(true)
    expect(frames.add(1, { route, content: Buffer.alloc(500), properties })).toBe(false)
    expect(read(frames.take())).toHaveLength(3)
    expect(frames.add(1, { route, content: Buffer.alloc(500), properties })).toBe(true)
  })
})
