import { cpus, totalmem } from 'node:os'

export interface Row {
  readonly name: string
  readonly unit: string
  readonly median: number
  readonly min: number
  readonly max: number
  readonly runs: number
}

export type Bar = { readonly name: string; readonly value: number; readonly holds: boolean } & (
  | { readonly atLeast: number }
  | { readonly atMost: number }
)

export interface BenchResult {
  readonly bench: string
  readonly machine: string
  readonly rows: readonly Row[]
  readonly bars: readonly Bar[]
}

/** The share of the speed that must remain with metrics. */
export const METRICS_ON_AT_LEAST = 0.9

export function atMost(name: string, value: number, limit: number): Bar {
  return { name, value, atMost: limit, holds: value <= limit }
}

export function atLeast(name: string, value: number, limit: number): Bar {
  return { name, value, atLeast: limit, holds: value >= limit }
}

export function machine(): string {
  const [first] = cpus()
  const memoryGiB = Math.round(totalmem() / 2 ** 30)
  const cores = `${cpus().length} × ${first?.model.trim() || process.arch}`
  return `${cores}, ${memoryGiB} GiB, ${process.platform} ${process.arch}, Node ${process.version}`
}

export function row(name: string, unit: string, samples: readonly number[]): Row {
  const sorted = [...samples].sort((a, b) => a - b)
  return {
    name,
    unit,
    median: sorted[Math.floor(sorted.length / 2)] ?? Number.NaN,
    min: sorted[0] ?? Number.NaN,
    max: sorted.at(-1) ?? Number.NaN,
    runs: sorted.length,
  }
}

/** The median of the ratio of the first to the second in each round, so that drift between rounds affects both. */
export function medianRatio(firsts: readonly number[], seconds: readonly number[]): number {
  return row(
    '',
    '',
    firsts.map((first, round) => first / seconds[round]!),
  ).median
}

export function median(rows: readonly Row[], name: string): number {
  const found = rows.find(candidate => candidate.name === name)
  if (found === undefined) throw new Error(`bench: no row is named '${name}'`)
  return found.median
}
