import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createFactory } from '../../testing/factories.ts'
import {
  changesNumbers,
  exactPayloadOf,
  isJsonBytes,
  withExactData,
  withExactNumbers,
  withJson,
  withNumberTexts,
} from './exact-numbers.ts'

const make = createFactory()
const bytes = (text: string) => new TextEncoder().encode(text)
const read = (text: string) => withExactNumbers(make.event({ payload: JSON.parse(text) }), bytes(text))

const ROUNDED = [
  '9007199254740993',
  '{"id":12345678901234567890}',
  '[0.12345678901234567890]',
  '{"a":1e-400}',
]
const EXACT = [
  '9007199254740992',
  '{"id":1.10}',
  '[1e2,100000000000000000000]',
  '{"a":"9007199254740993"}',
  '-0.0',
]

describe('numbers that JavaScript rounds', () => {
  it('P2: a payload with one is kept as the bytes of the message, and any other as JSON', () => {
    for (const text of ROUNDED) {
      const event = read(text)
      expect(event.payload, text).toEqual(bytes(text))
      expect(isJsonBytes(event)).toBe(true)
    }
    for (const text of EXACT) expect(read(text).payload, text).toEqual(JSON.parse(text))
  })

  it('P2: what JSON writes of any value is never taken for rounded', () => {
    fc.assert(
      fc.property(fc.jsonValue(), value => void expect(changesNumbers(JSON.stringify(value))).toBe(false)),
    )
  })

  it('P2: finds a rounded number behind texts of any length, and none inside of a text', () => {
    const long = JSON.stringify('"\\\n'.repeat(2_000_000))
    expect(changesNumbers(`{"a":${long},"n":9007199254740993}`)).toBe(true)
    expect(changesNumbers(`{"a":${long},"n":"\\\\","m":"\\"9007199254740993"}`)).toBe(false)
    expect(changesNumbers('{"a":"\\\\","n":-9007199254740993}')).toBe(true)
  })

  it('P2: handlers get JSON, people see all digits, and the bytes can be sent on', () => {
    const text = '{"id":9007199254740993,"name":"x","n":1}'
    const event = read(text)
    const handled = withJson(event)
    expect(handled.payload).toEqual({ id: 9007199254740992, name: 'x', n: 1 })
    expect(exactPayloadOf(handled)).toEqual(bytes(text))
    expect(withNumberTexts(event).payload).toEqual({ id: '9007199254740993', name: 'x', n: 1 })
  })

  it('P2: the data of a CloudEvent in structured mode keeps its digits', () => {
    const content = '{"id":"1","data":{"id":9007199254740993,"n":1.5},"number":12345678901234567890}'
    const { data } = JSON.parse(content)
    const event = withExactData(make.event({ payload: data }), bytes(content))
    expect(event.payload).toEqual(bytes('{"id":9007199254740993,"n":1.5}'))
    const elsewhere = bytes('{"data":{"n":1},"number":12345678901234567890}')
    expect(withExactData(make.event({ payload: { n: 1 } }), elsewhere).payload).toEqual({ n: 1 })
  })

  it('P2: the header on bytes that are not JSON changes nothing', () => {
    const event = make.event({ headers: { 'x-json-bytes': 'true' }, payload: bytes('{') })
    expect(withJson(event).payload).toEqual(bytes('{'))
    expect(withNumberTexts(event)).toEqual(event)
  })
})
