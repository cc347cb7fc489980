import type { Bar, BenchResult } from './result.ts'

/** A table for people: every row with its spread and its ratio to the first row. */
export function table(result: BenchResult): string {
  const base = result.rows[0]
  const header = ['', 'median', 'min', 'max', 'runs', `× ${base?.name ?? ''}`]
  const body = result.rows.map(row => [
    row.name,
    `${figure(row.median)} ${row.unit}`,
    figure(row.min),
    figure(row.max),
    String(row.runs),
    base?.unit === row.unit ? (row.median / base.median).toFixed(2) : '',
  ])
  const widths = header.map((_, column) =>
    Math.max(...[header, ...body].map(cells => cells[column]?.length ?? 0)),
  )
  const lines = [header, ...body].map(cells =>
    cells
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!)))
      .join('  ')
      .trimEnd(),
  )
  return [
    `bench ${result.bench} on ${result.machine}`,
    '',
    ...lines,
    '',
    ...result.bars.map(barLine),
    '',
  ].join('\n')
}

function barLine(bar: Bar): string {
  const limit = 'atMost' in bar ? `at most ${figure(bar.atMost)}` : `at least ${figure(bar.atLeast)}`
  return `${bar.holds ? 'holds ' : 'BROKEN'}  ${bar.name}: ${figure(bar.value)} (${limit})`
}

export function figure(value: number): string {
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en-US').replaceAll(',', ' ')
  return value.toFixed(2)
}
