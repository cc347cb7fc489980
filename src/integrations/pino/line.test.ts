import { describe, expect, it } from 'vitest'
import { trackInputOf } from './line.ts'
import { Lines } from './lines.ts'

const options = { type: 'log', typeField: undefined }
const read = (line: object, more = {}) => trackInputOf(JSON.stringify(line), { ...options, ...more })

describe('a line of pino as an event', () => {
  it('E17: keeps message, error and fields as the payload, and the time it was logged at', () => {
    const err = { type: 'Error', message: 'refused', stack: 'Error: refused\n    at x' }
    const line = { level: 50, time: 1_700_000_000_000, pid: 7, name: 'shop', msg: 'no', err, orderId: 3 }
    expect(read(line)).toEqual({
      type: 'log.error',
      severity: 'error',
      payload: { pid: 7, name: 'shop', msg: 'no', err, orderId: 3 },
      occurredAt: 1_700_000_000_000,
      source: 'shop',
      headers: undefined,
    })
  })

  it.each([
    [10, 'trace'],
    [20, 'debug'],
    [30, 'info'],
    [35, 'info'],
    [40, 'warn'],
    [50, 'error'],
    [60, 'fatal'],
    [99, 'fatal'],
    [1, 'trace'],
    ['WARN', 'warn'],
    [undefined, 'info'],
  ])('E15: level %s is the severity %s', (level, severity) => {
    expect(read({ level })).toMatchObject({ severity, type: `log.${severity}` })
  })

  it('E17: times may be ISO texts; an invalid time is left out', () => {
    expect(read({ level: 30, time: '2026-01-02T03:04:05.006Z' }).occurredAt).toBe(
      Date.UTC(2026, 0, 2, 3, 4, 5, 6),
    )
    for (const time of ['soon', -1, null, 1e300, {}]) expect(read({ time }).occurredAt).toBeUndefined()
  })

  it('E17: trace and span are the traceparent, if they are well-formed', () => {
    const trace_id = '4bf92f3577b34da6a3ce929d0e0e4736'
    const span_id = '00f067aa0ba902b7'
    const header = (flags: string) => ({ traceparent: `00-${trace_id}-${span_id}-${flags}` })
    expect(read({ trace_id, span_id, trace_flags: '00' }).headers).toEqual(header('00'))
    expect(read({ traceId: trace_id, spanId: span_id }).headers).toEqual(header('01'))
    for (const wrong of ['0'.repeat(32), 'x', 7, undefined])
      expect(read({ trace_id: wrong, span_id }).headers).toBeUndefined()
  })

  it('E12: the type can be said by a field, and what it begins with by an option', () => {
    expect(read({ level: 30, event: 'order.paid' }, { typeField: 'event' }).type).toBe('order.paid')
    expect(read({ level: 30, event: '' }, { typeField: 'event' }).type).toBe('log.info')
    expect(read({ level: 30, event: 'order.paid' }).type).toBe('log.info')
    expect(read({ level: 60 }, { type: 'shop.log' }).type).toBe('shop.log.fatal')
  })

  it.each(['Segmentation fault', '{"level":30', '[1]', 'null', '"x"'])('E21: %s is kept as it is', line => {
    expect(trackInputOf(line, options)).toEqual({ type: 'log.unparsed', severity: 'warn', payload: { line } })
  })

  it('E21: of a text that is too long its beginning is kept, and how long it was', () => {
    const { payload } = trackInputOf('x'.repeat(100_000), options)
    expect(payload).toEqual({ line: 'x'.repeat(16_384), cutFrom: 100_000 })
  })
})

describe('lines', () => {
  it('are found wherever pieces end', () => {
    const lines = new Lines()
    expect(lines.add('a\nb')).toEqual(['a'])
    expect(lines.add('c')).toEqual([])
    expect(lines.add('\n\n  \nd\n')).toEqual(['bc', 'd'])
    expect(lines.end()).toBe('')
  })

  it('are not held without bounds', () => {
    const lines = new Lines()
    expect(lines.add('x'.repeat(4_194_305))).toHaveLength(1)
    expect(lines.end()).toBe('')
  })
})
