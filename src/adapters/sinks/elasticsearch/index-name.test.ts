import { describe, expect, it } from 'vitest'
import { make } from '../../../../test/support/sinks.ts'
import { elasticsearch } from './elasticsearch.ts'
import { indexRule, isName } from './index-name.ts'

const url = 'http://es'

describe('names of indices', () => {
  it('F7: patterns that can name no index are refused when the sink is made', () => {
    for (const index of ['Events', 'a b', 'a/b', '_x', 'x-{week}', 'x-{', '', 'x'.repeat(256), 'a:b'])
      expect(() => elasticsearch({ url, index }), index).toThrow('elasticsearch.index')
    for (const dataStream of ['logs-{yyyy}', 'Logs', '-x'])
      expect(() => elasticsearch({ url, dataStream }), dataStream).toThrow('elasticsearch.dataStream')
    expect(() => elasticsearch({ url, index: 'a', dataStream: 'b' })).toThrow(
      'either an index or a data stream',
    )
  })

  it('E17: dates are those of the event, in UTC', () => {
    const name = indexRule.read('e-{yyyy}-{MM.dd}-{channel}', 'index', { list: [] } as never)
    const occurredAt = Date.UTC(2026, 11, 31, 23, 59, 59)
    expect(name(make.event({ occurredAt, channel: 'A.b' }))).toBe('e-2026-12.31-a.b')
    expect(name(make.event({ occurredAt: occurredAt + 1_000 }))).toBe('e-2027-01.01-orders')
  })

  it('E17: what both servers take as a name', () => {
    expect(['logs', 'a.b-c_d', '.x'].every(isName)).toBe(true)
    expect(['.', '..', 'A', 'a#b', '+a', 'é'.repeat(128)].some(isName)).toBe(false)
  })
})
