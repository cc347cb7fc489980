import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { EventError } from './errors.ts'
import type { LazaretEvent } from './event.ts'
import { decodeEvent, encodeEvent, eventFromJson, eventToJson } from './json.ts'

const EVENT: LazaretEvent = {
  v: 1,
  id: 'a',
  type: 't',
  channel: 'c',
  key: undefined,
  idempotencyKey: 'a',
  occurredAt: 1,
  expiresAt: undefined,
  source: undefined,
  headers: { h: 'x' },
  payload: { n: 1 },
}

function faultsOf(run: () => unknown): readonly string[] {
  try {
    run()
  } catch (error) {
    expect(error).toBeInstanceOf(EventError)
    return (error as EventError).faults.map(fault => `${fault.path}: ${fault.remedy}`)
  }
  return []
}

describe('the stored form of an event', () => {
  it('P2: is plain JSON with its version first', () => {
    expect(encodeEvent(EVENT)).toBe(
      '{"v":1,"id":"a","type":"t","channel":"c","idempotencyKey":"a","occurredAt":1,"headers":{"h":"x"},"payload":{"n":1}}',
    )
  })

  it('P2: bytes have a field of their own, so a payload that looks like them stays what it is', () => {
    const bytes = eventToJson({ ...EVENT, payload: new Uint8Array([1, 2, 255]) })
    expect(bytes).toMatchObject({ payloadBase64: 'AQL/' })
    expect(Object.hasOwn(bytes, 'payload')).toBe(false)
    const lookalike = { ...EVENT, payload: { payloadBase64: 'AQL/' } }
    expect(eventFromJson(eventToJson(lookalike)).payload).toEqual({ payloadBase64: 'AQL/' })
  })

  it('P2: fields that a later version adds are left out', () => {
    expect(eventFromJson({ ...eventToJson(EVENT), shard: 7 })).toStrictEqual(EVENT)
  })

  it('P2: a newer version is refused with the remedy', () => {
    expect(faultsOf(() => eventFromJson({ ...eventToJson(EVENT), v: 2 }))).toEqual([
      'event.v: written by a newer Lazaret; update this one, which reads version 1',
    ])
    expect(faultsOf(() => eventFromJson({ ...eventToJson(EVENT), v: '1' }))).toEqual([
      'event.v: give version 1',
    ])
  })

  it('P2: all faults of a stored event are in one error', () => {
    const stored = { v: 1, id: 'a', headers: [], payloadBase64: '!' }
    expect(faultsOf(() => eventFromJson(stored)).map(fault => fault.split(':')[0])).toEqual([
      'event.payloadBase64',
      'event.type',
      'event.channel',
      'event.idempotencyKey',
      'event.occurredAt',
      'event.headers',
    ])
    expect(faultsOf(() => eventFromJson({ ...eventToJson(EVENT), payload: undefined }))).toHaveLength(1)
  })

  it('P2: an event larger than the default limits stays readable', () => {
    const large = { ...EVENT, payload: 'x'.repeat(2_000_000) }
    expect(decodeEvent(encodeEvent(large))).toStrictEqual(large)
  })

  it('P2: whatever the text, decoding gives an event or an EventError', () => {
    const text = fc.oneof(fc.string(), fc.json(), fc.constant('['.repeat(200_000)))
    fc.assert(
      fc.property(text, each => void expect(faultsOf(() => decodeEvent(each)).length).toBeGreaterThan(0)),
    )
    const deep = `${JSON.stringify(eventToJson(EVENT)).slice(0, -8)}:${'['.repeat(100_000)}${']'.repeat(100_000)}}`
    expect(faultsOf(() => decodeEvent(deep))).toHaveLength(1)
  })

  it('P2: an event that cannot be encoded is an EventError too', () => {
    expect(faultsOf(() => encodeEvent({ ...EVENT, payload: 1n }))).toHaveLength(1)
  })
})
