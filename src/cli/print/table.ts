import type { Io } from '../io.ts'
import { type Colour, type Paint, paintFor } from './style.ts'
import { iso, relative } from './times.ts'
import { cutTo, widthOf } from './width.ts'

export interface Column<T> {
  readonly title: string
  /** The text of a cell: one line, safe for a terminal. */
  cell(row: T): string
  colour?(row: T): Colour | undefined
  /** On a narrow terminal the columns with the highest number are dropped first. A column without one stays. */
  readonly dropAt?: number
  /** The column may be cut to this width. Below it, other columns are dropped instead. */
  readonly shrinksTo?: number
}

/** A column of times: a terminal shows the age, a pipe the exact time. */
export function ageColumn<T>(
  { stdout, clock }: Pick<Io, 'stdout' | 'clock'>,
  title: string,
  timeOf: (row: T) => number,
) {
  const now = clock.now()
  return { title, cell: (row: T) => (stdout.isTerminal ? relative(timeOf(row), now) : iso(timeOf(row))) }
}

const GAP = 2
const LEAST = 6

/**
 * Formats rows as columns that fit the terminal. The first page sets the widths, so that a long listing can be written
 * page by page; a wider cell of a later page is cut, or shifts the rest of its line.
 */
export class Table<T> {
  readonly #paint: Paint
  readonly #columns: readonly Column<T>[]
  readonly #room: number
  #layout: readonly { readonly column: Column<T>; readonly width: number }[] | undefined

  /** Without a width nothing is cut, because a program may read the output. */
  constructor(columns: readonly Column<T>[], paint: Paint, width: number | undefined) {
    this.#columns = columns
    this.#paint = paint
    this.#room = width ?? Number.POSITIVE_INFINITY
  }

  /** The text of these rows. The first page begins with the titles. */
  page(rows: readonly T[]): string {
    const titles = this.#layout === undefined
    this.#layout ??= this.#arrange(rows)
    const lines = rows.map(row => this.#line(column => [column.cell(row), column.colour?.(row)]))
    if (titles) lines.unshift(this.#line(column => [column.title, 'dim']))
    return lines.map(line => `${line}\n`).join('')
  }

  #arrange(rows: readonly T[]) {
    let chosen = this.#columns.map(column => ({
      column,
      width: Math.max(widthOf(column.title), ...rows.map(row => widthOf(column.cell(row)))),
    }))
    while (leastWidth(chosen) > this.#room) {
      const next = chosen.reduce<(typeof chosen)[number] | undefined>(
        (worst, each) => ((each.column.dropAt ?? 0) > (worst?.column.dropAt ?? 0) ? each : worst),
        undefined,
      )
      if (next === undefined) break
      chosen = chosen.filter(each => each !== next)
    }
    let excess = total(chosen.map(({ width }) => width)) - this.#room
    // Cuts the widest columns first, so that short values stay complete.
    for (const each of [...chosen].sort((a, b) => b.width - a.width)) {
      if (excess <= 0 || each.column.shrinksTo === undefined) continue
      const given = Math.min(excess, Math.max(0, each.width - LEAST))
      each.width -= given
      excess -= given
    }
    return chosen
  }

  #line(cellOf: (column: Column<T>) => readonly [string, Colour | undefined]): string {
    const layout = this.#layout!
    const cells = layout.map(({ column, width }, index) => {
      const [text, colour] = cellOf(column)
      const shown =
        column.shrinksTo === undefined || this.#room === Number.POSITIVE_INFINITY ? text : cutTo(text, width)
      const isLast = index === layout.length - 1
      return this.#paint(colour, shown) + (isLast ? '' : ' '.repeat(Math.max(0, width - widthOf(shown))))
    })
    return cells.join(' '.repeat(GAP)).trimEnd()
  }
}

function leastWidth(chosen: readonly { column: Column<never>; width: number }[]): number {
  return total(chosen.map(({ column, width }) => Math.min(width, column.shrinksTo ?? width)))
}

function total(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width, 0) + GAP * Math.max(0, widths.length - 1)
}

/** A table with the width and colours of stdout. */
export function tableOn<T>(
  { stdout, env }: Pick<Io, 'stdout' | 'env'>,
  columns: readonly Column<T>[],
): Table<T> {
  return new Table(columns, paintFor(stdout, env), stdout.columns)
}
