import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { HistogramCell, NumberCell } from './cells.ts'
import { MAX_VALUE_LENGTH, mostSeries, OVERFLOW, Series } from './series.ts'
import { SlidingRatio } from './sliding-ratio.ts'

const RUNS = { numRuns: 200 }
/** Few enough to come up again, some too long, one that looks like the overflow. */
const value = fc.oneof(
  fc.integer({ min: 0, max: 30 }).map(n => `value ${n}`),
  fc.integer({ min: 0, max: 5 }).map(n => `${'long '.repeat(40)}${n}`),
  fc.constantFrom('', OVERFLOW, 'other', '__proto__', 'constructor'),
)

describe('series', () => {
  it('E20: keep within their bound and lose no count, in whatever order values come', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(0 as const, 1 as const, 2 as const, 3 as const, 4 as const),
        fc.integer({ min: 1, max: 8 }),
        fc.array(fc.tuple(value, value, value, value), { maxLength: 400 }),
        (labels, maxValues, counted) => {
          const series = new Series(labels, { maxValues }, () => new NumberCell())
          for (const values of counted) series.at(...values).value++
          const entries = [...series.entries()]
          expect(entries.reduce((sum, [, cell]) => sum + cell.value, 0)).toBe(counted.length)
          expect(entries).toHaveLength(series.size)
          expect(series.size).toBeLessThanOrEqual(mostSeries(labels, { maxValues }))
          for (let label = 0; label < labels; label++) {
            const told = new Set(entries.map(([values]) => values[label]!))
            told.delete(OVERFLOW)
            expect(told.size).toBeLessThanOrEqual(maxValues)
            for (const each of told) expect(each.length).toBeLessThanOrEqual(MAX_VALUE_LENGTH)
          }
        },
      ),
      RUNS,
    )
  })

  it('E20: values that the cut leaves with half a sign are one series, as they are written alike', () => {
    const series = new Series(1, { maxValues: 10 }, () => new NumberCell())
    const long = 'x'.repeat(MAX_VALUE_LENGTH - 1)
    for (const sign of ['\u{1F6DF}', '\u{1D4B3}']) series.at(`${long}${sign}`).value++
    expect(Array.from(series.entries(), ([values, cell]) => [...values, cell.value])).toEqual([
      [`${long}\uFFFD`, 2],
    ])
  })

  it('E20: as long as there is room, each combination has its own count', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(value, value), { maxLength: 200 }), counted => {
        const series = new Series(2, { maxValues: 1_000 }, () => new NumberCell())
        const expected = new Map<string, number>()
        for (const [first, second] of counted) {
          series.at(first, second).value++
          const key = JSON.stringify([first, second].map(each => each.slice(0, MAX_VALUE_LENGTH)))
          expected.set(key, (expected.get(key) ?? 0) + 1)
        }
        const told = Array.from(
          series.entries(),
          ([values, cell]) => [JSON.stringify(values), cell.value] as const,
        )
        expect(new Map(told)).toEqual(expected)
      }),
      RUNS,
    )
  })

  it('E20: what came first keeps its series for good', () => {
    const series = new Series(1, { maxValues: 2 }, () => new NumberCell())
    for (const name of ['a', 'b', 'c', 'd', 'a', 'c']) series.at(name).value++
    expect(Array.from(series.entries(), ([[name], { value }]) => [name, value])).toEqual([
      ['a', 2],
      ['b', 1],
      [OVERFLOW, 3],
    ])
  })

  it('E20: past the combinations both labels are told as the overflow', () => {
    const series = new Series(2, { maxValues: 100 }, () => new NumberCell())
    for (let n = 0; n < 100; n++) for (let m = 0; m < 100; m++) series.at(`n${n}`, `m${m}`).value++
    expect(series.size).toBe(1_001)
    expect(series.at(OVERFLOW, OVERFLOW).value).toBe(9_000)
  })
})

describe('series with a detail', () => {
  it('R10: when half of them are used, the last label gives way and the others stay', () => {
    const series = new Series(4, { maxValues: 10 }, () => new NumberCell())
    for (let n = 0; n < 10; n++)
      for (let m = 0; m < 10; m++) series.at('orders', `handler ${n}`, 'permanent', `Error${m}`).value++
    series.at('mails', 'handler 0', 'permanent', 'Error0').value++
    const told = Array.from(series.entries(), ([values, { value }]) => [...values, value])
    expect(told).toContainEqual(['orders', 'handler 0', 'permanent', 'Error9', 1])
    expect(told).toContainEqual(['orders', 'handler 9', 'permanent', OVERFLOW, 10])
    expect(told.at(-1)).toEqual(['mails', 'handler 0', 'permanent', OVERFLOW, 1])
    expect(series.size).toBeLessThanOrEqual(mostSeries(4, { maxValues: 10 }))
  })
})

describe('a histogram', () => {
  it('E20: counts each value in the first bucket that is as large, and adds them up', () => {
    const number = fc.double({ min: -10, max: 100, noNaN: true })
    fc.assert(
      fc.property(
        fc.uniqueArray(number, { minLength: 1, maxLength: 8 }),
        fc.array(number, { maxLength: 50 }),
        (some, values) => {
          const bounds = some.toSorted((a, b) => a - b)
          const cell = new HistogramCell(bounds)
          for (const each of values) cell.add(each)
          const { buckets, sum, count } = cell.read()
          expect(buckets.map(({ le }) => le)).toEqual([...bounds, Number.POSITIVE_INFINITY])
          for (const { le, count: upTo } of buckets)
            expect(upTo).toBe(values.filter(each => each <= le).length)
          expect(count).toBe(values.length)
          expect(sum).toBeCloseTo(
            values.reduce((total, each) => total + each, 0),
            6,
          )
        },
      ),
      RUNS,
    )
  })
})

describe('a sliding ratio', () => {
  it('E20: is of what was added in its window, give or take one slice', () => {
    const added = fc.record({ waitMs: fc.nat(40), good: fc.nat(5), bad: fc.nat(5) })
    fc.assert(
      fc.property(fc.array(added, { maxLength: 60 }), fc.nat(1_000), (all, laterMs) => {
        const windowMs = 300
        const ratio = new SlidingRatio(windowMs)
        const history: { readonly at: number; readonly good: number; readonly bad: number }[] = []
        let now = 1_700_000_000_000
        for (const { waitMs, good, bad } of all) {
          now += waitMs
          ratio.add(now, good, bad)
          history.push({ at: now, good, bad })
        }
        now += laterMs
        // Slices are 10 ms long; the oldest of them may be over in part.
        const isIn = (at: number) => Math.floor(now / 10) - Math.floor(at / 10) < 30
        const good = history.reduce((sum, each) => sum + (isIn(each.at) ? each.good : 0), 0)
        const bad = history.reduce((sum, each) => sum + (isIn(each.at) ? each.bad : 0), 0)
        expect(ratio.read(now)).toBe(good + bad === 0 ? undefined : good / (good + bad))
      }),
      RUNS,
    )
  })

  it('E20: survives a clock that is set back', () => {
    const ratio = new SlidingRatio(300_000)
    ratio.add(10_000_000, 1, 0)
    ratio.add(5_000_000, 0, 1)
    expect(ratio.read(5_000_000)).toBe(0.5)
    expect(ratio.read(5_000_000 + 289_999)).toBe(0.5)
    expect(ratio.read(5_000_000 + 300_000)).toBeUndefined()
    ratio.add(5_000_000 + 300_000, 0, 1)
    expect(ratio.read(5_000_000 + 300_000)).toBe(0)
  })
})
