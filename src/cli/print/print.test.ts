import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { FakeClock } from '../../testing/fake-clock.ts'
import type { Io } from '../io.ts'
import { jsonLine, toJson } from './json.ts'
import { Progress } from './progress.ts'
import { safeText } from './safe-text.ts'
import { type Column, Table } from './table.ts'
import { relative, spanText } from './times.ts'
import { cutTo, widthOf } from './width.ts'

describe('text for terminals', () => {
  it('F8: wide characters take two columns, accents none', () => {
    expect(widthOf('abc')).toBe(3)
    expect(widthOf('注文')).toBe(4)
    expect(widthOf('e\u0301')).toBe(1)
    expect(widthOf('🚢')).toBe(2)
    expect(widthOf('\u001b[31mdead\u001b[0m')).toBe(4)
  })

  it('F8: what is cut fits, and what fits is not cut', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 1, max: 40 }), (raw, columns) => {
        const text = safeText(raw)
        const cut = cutTo(text, columns)
        expect(widthOf(cut)).toBeLessThanOrEqual(columns)
        if (widthOf(text) <= columns) expect(cut).toBe(text)
      }),
    )
  })

  it('F8: no control character gets through, and the rest is untouched', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), text => {
        expect(safeText(text)).not.toMatch(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/u)
      }),
    )
    expect(safeText('Größe: 10 µm — ok')).toBe('Größe: 10 µm — ok')
    expect(safeText('a\nb\tc')).toBe('a⏎b c')
  })

  it('F8: joined emoji stay as they are; joiners and other invisible characters elsewhere are escaped', () => {
    for (const emoji of [
      '👩‍🚀',
      '👨‍👩‍👧',
      '🏳️‍🌈',
      '❤️‍🔥',
      '👍🏽',
      '🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}',
    ])
      expect(safeText(`by ${emoji}!`)).toBe(`by ${emoji}!`)
    expect(safeText('pay\u200dpal')).toBe('pay\\u200dpal')
    expect(safeText('👩\u200d')).toBe('👩\\u200d')
    expect(safeText('👩\u200da')).toBe('👩\\u200da')
    expect(safeText('a\u00adb\u{e0041}')).toBe('a\\u00adb\\u{e0041}')
    expect(cutTo('👩‍🚀👩‍🚀', 4)).toBe('👩…')
  })

  it.each([
    [12, '12ms'],
    [2_500, '2.5s'],
    [61_000, '1m1s'],
    [3_600_000, '1h'],
    [5_400_000, '1h30m'],
    [90_000_000, '1d1h'],
    [864_000_000, '10d'],
  ])('F8: %d ms is %s', (ms, expected) => {
    expect(spanText(ms)).toBe(expected)
  })

  it('F8: times are told from now on', () => {
    expect([relative(1_000, 61_500), relative(61_500, 1_000), relative(5, 900)]).toEqual([
      '1m ago',
      'in 1m',
      'now',
    ])
  })
})

describe('tables', () => {
  type Row = readonly [string, string, string]
  const columns: Column<Row>[] = [
    { title: 'A', cell: row => row[0] },
    { title: 'B', cell: row => row[1], dropAt: 1 },
    { title: 'C', cell: row => row[2], shrinksTo: 8 },
  ]
  const table = (width?: number) => new Table(columns, (_, text) => text, width)
  const rows: Row[] = [['1', 'bbbbbb', 'a long story']]

  it('F8: cut, then drop columns, until a line fits', () => {
    expect(table().page(rows)).toBe('A  B       C\n1  bbbbbb  a long story\n')
    expect(table(20).page(rows)).toBe('A  B       C\n1  bbbbbb  a long s…\n')
    expect(table(14).page(rows)).toBe('A  C\n1  a long sto…\n')
  })

  it('F8: never exceed the terminal where cutting can help', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.string({ maxLength: 3 }), fc.string(), fc.string()), { minLength: 1 }),
        fc.integer({ min: 16, max: 60 }),
        (given, width) => {
          const safe = given.map(row => row.map(safeText) as unknown as Row)
          fc.pre(safe.every(([a]) => widthOf(a) <= 6))
          for (const line of table(width).page(safe).split('\n'))
            expect(widthOf(line)).toBeLessThanOrEqual(width)
        },
      ),
    )
  })

  it('F8: titles stand above the first page only, and later pages keep its widths', () => {
    const paged = table()
    paged.page(rows)
    expect(paged.page([['2', 'b', 'c']])).toBe('2  b       c\n')
  })
})

describe('JSON', () => {
  it('F8: our times are ISO 8601, the numbers of the user stay', () => {
    expect(
      toJson({
        at: 0,
        cycle: { lastFailedAt: 1_000, endedAt: undefined },
        event: { payload: { createdAt: 5 } },
        count: 3,
      }),
    ).toEqual({
      at: '1970-01-01T00:00:00.000Z',
      cycle: { lastFailedAt: '1970-01-01T00:00:01.000Z', endedAt: undefined },
      event: { payload: { createdAt: 5 } },
      count: 3,
    })
  })
})

describe('a line of JSON', () => {
  it('F8, P2: has no control character for a terminal, and says the same', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), raw => {
        const value = { message: `${raw}\u009b2J\u202e\u007f` }
        const line = jsonLine(value)
        expect(line.slice(0, -1)).not.toMatch(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/u)
        expect(JSON.parse(line)).toEqual(value)
      }),
    )
  })
})

describe('progress', () => {
  function onTerminal(isTerminal: boolean) {
    const clock = new FakeClock()
    const written: string[] = []
    const stderr = { isTerminal, columns: 70, write: async (text: string) => void written.push(text) }
    return { clock, written, io: { clock, stderr } as unknown as Io }
  }

  it('F8: tells share, rate and remaining time, from where the work began', async () => {
    const { clock, written, io } = onTerminal(true)
    const progress = new Progress(io, 1_000)
    await progress.show(100)
    await clock.advance(10_000)
    await progress.show(200, 'stage 2 of 4')
    expect(written.at(-1)).toContain('[████░░░░░░░░░░░░░░░░░░░░] 20% 200/1000 · 10/s · 1m20s left')
    await clock.advance(50)
    await progress.show(201)
    expect(written).toHaveLength(2)
    await progress.clear()
    expect(written.at(-1)).toBe('\r\u001b[2K')
  })

  it('F8: is silent where nobody looks', async () => {
    const { written, io } = onTerminal(false)
    const progress = new Progress(io, 10)
    await progress.show(5)
    await progress.clear()
    expect(written).toEqual([])
  })
})
