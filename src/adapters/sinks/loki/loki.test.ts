import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createIdSource } from '../../../core/event/uuid.ts'
import { seededRandom } from '../../../testing/seeded-random.ts'
import { labelName } from './labels.ts'
import { loki } from './loki.ts'
import type { LokiOptions } from './options.ts'
import { nanosOf, nanosText } from './timestamp.ts'

describe('the time of an entry', () => {
  it('E17: follows the order of ids within a millisecond', () => {
    const newId = createIdSource(seededRandom(3))
    const nanos = Array.from({ length: 2_000 }, () => nanosOf(newId(1_700_000_000_000)))
    expect(nanos).toEqual(nanos.toSorted((a, b) => a - b))
    expect(new Set(nanos).size).toBe(2_000)
    expect(nanos.every(value => value >= 0 && value < 1_000_000)).toBe(true)
  })

  it('E17: any id has its place in the millisecond, always the same', () => {
    fc.assert(
      fc.property(fc.string(), id => {
        expect(nanosOf(id)).toBe(nanosOf(id))
        expect(nanosText(5, nanosOf(id))).toMatch(/^5\d{6}$/)
      }),
    )
  })

  it('E17: is written in nanoseconds', () => {
    expect(nanosText(1_700_000_000_000, 7)).toBe('1700000000000000007')
    expect(nanosText(1_700_000_000_000, 1_000_002)).toBe('1700000000001000002')
  })
})

describe('labels', () => {
  it('E20: any name becomes one that Loki takes', () => {
    expect(['app', 'k8s.io/pod', '1st', '__name__', '', 'ä'].map(labelName)).toEqual([
      'app',
      'k8s_io_pod',
      '_1st',
      '_name__',
      '_',
      '_',
    ])
    fc.assert(fc.property(fc.string(), name => /^(?!__)[a-zA-Z_][a-zA-Z0-9_]*$/.test(labelName(name))))
  })
})

describe('loki options', () => {
  it('F7: every fault at once, and no secret in them', () => {
    const options = {
      url: 'loki.example:3100',
      tenant: 'a|b',
      labels: { 'a-b': 'x', a_b: 'y', c: 7 },
      labelFields: ['chanel'],
      metadata: true,
      label: {},
    }
    let message = ''
    try {
      loki(options as unknown as LokiOptions)
    } catch (error) {
      message = (error as Error).message
    }
    expect(message.split('\n').map(line => line.trim().split(':')[0])).toEqual([
      'loki',
      'loki.label',
      'loki.url',
      'loki.tenant',
      'loki.labels.a_b',
      'loki.labels.c',
      'loki.labelFields[0]',
      'loki.metadata',
    ])
    expect(() => loki({ url: 'http://loki/loki/api/v1/push' })).toThrow('remove /loki/api/v1/push')
  })
})
