import type { Io } from '../io.ts'
import { type Colour, type Paint, paintFor } from './style.ts'
import { cutTo, widthOf } from './width.ts'

export interface Column<T> {
  readonly title: string
  /** On one line, safe to show. */
  cell(row: T): string
  colour?(row: T): Colour | undefined
  /** Where there is too little room the columns with the greatest number go first; without one a column stays. */
  readonly dropAt?: number
  /** May be cut, and is of little use below this width: before that other columns go. */
  readonly shrinksTo?: number
}

const GAP = 2
const LEAST = 6

/**
 * Lays rows out in columns that fit the terminal. Widths are those of the first page, so that a long listing can be
 * written page by page; a wider cell of a later page is cut if it may be, and else moves the rest of its line.
 */
export class Table<T> {
  readonly #paint: Paint
  readonly #columns: readonly Column<T>[]
  readonly #room: number
  #layout: readonly { readonly column: Column<T>; readonly width: number }[] | undefined

  /** Without a width everything is shown whole: output for a program must not be cut. */
  constructor(columns: readonly Column<T>[], paint: Paint, width: number | undefined) {
    this.#columns = columns
    this.#paint = paint
    this.#room = width ?? Number.POSITIVE_INFINITY
  }

  /** The text of these rows, with the titles above the first. */
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
    // The widest first, so that what is short stays whole.
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

/** A table for standard output, as wide and as coloured as that is. */
export function tableOn<T>(
  { stdout, env }: Pick<Io, 'stdout' | 'env'>,
  columns: readonly Column<T>[],
): Table<T> {
  return new Table(columns, paintFor(stdout, env), stdout.columns)
}
