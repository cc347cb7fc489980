import type { EndLine, Fault, FaultLine, Line, Sample, StoreName } from './plan.ts'
import { type JudgedSeries, judge, SERIES, samplesOf } from './series.ts'
import { rowOf, rule } from './table.ts'
import { median } from './trend.ts'

/** What a soak found out about one store. */
export interface StoreFindings {
  readonly store: StoreName
  readonly samples: readonly Sample[]
  readonly faults: readonly FaultLine[]
  /** Undefined if the soak was ended before it. */
  readonly end: EndLine['end'] | undefined
  readonly judged: readonly JudgedSeries[]
  /** Losses, standstills and growth. */
  readonly violations: readonly string[]
}

/** The stores in the order of the lines. */
export function findingsOf(lines: readonly Line[]): StoreFindings[] {
  return [...new Set(lines.map(({ store }) => store))].map(store => {
    const samples = samplesOf(lines, store)
    const judged = judge(samples)
    const end = lines.find((line): line is EndLine => line.store === store && 'end' in line)?.end
    const counted = end === undefined ? ['no count at the end'] : endViolations(end)
    const grown = judged.filter(({ hasFailed }) => hasFailed).map(describeGrowth)
    const violations = [...counted, ...grown].map(text => `${store}: ${text}`)
    return { store, samples, faults: faultsOf(lines, store), end, judged, violations }
  })
}

function faultsOf(lines: readonly Line[], store: StoreName): FaultLine[] {
  return lines.filter((line): line is FaultLine => line.store === store && 'fault' in line)
}

function endViolations({ missing, left, lost, examples, stuck }: EndLine['end']): string[] {
  const texts = [...stuck]
  // Replayed events wait there as well, and have a letter.
  if (missing > 0 && left > 0) texts.push(`${left} events still wait in the channel`)
  if (missing > left) texts.push(`${missing - left} lost events, such as ${examples.join(', ')}`)
  if (lost > 0) texts.push(`${lost} events that the dispatcher dropped`)
  return texts
}

function describeGrowth({ series, perHour, second, last, noise }: JudgedSeries): string {
  const { name, unit } = SERIES[series]
  const show = (value: number) => `${value.toFixed(1)}${unit && ` ${unit}`}`
  return `${name} rises by ${show(perHour)} an hour, from ${show(second)} to ${show(last)}, noise ${show(noise)}`
}

/** The report as it is printed and kept: Markdown. */
export function reportOf(found: readonly StoreFindings[]): string[] {
  const all = found.flatMap(({ samples }) => samples)
  const loads = all.map(({ load }) => load)
  return [
    `Load of the machine: ${median(loads).toFixed(1)} (median), ${maximum(loads).toFixed(1)} (at most)`,
    '',
    ...countRows(found),
    '',
    ...trendRows(found),
  ]
}

function countRows(found: readonly StoreFindings[]): string[] {
  const heads = [
    ...[
      'store',
      'minutes',
      'published',
      'handled',
      'letters saved',
      'replayed',
      'discarded',
      'letters deleted',
    ],
    ...['run again', 'killed', 'cut', 'hung', '**lost**', 'result'],
  ]
  return [rowOf(heads), rule(heads.length), ...found.map(each => rowOf(countCells(each)))]
}

function countCells({ store, samples, faults, end, violations }: StoreFindings): (string | number)[] {
  const minutes = (maximum(samples.map(({ atMs }) => atMs)) / 60_000).toFixed(0)
  const times = (fault: Fault) => faults.filter(line => line.fault === fault).length
  const { published, handled, dead, replayed, discarded, expired, again } = end ?? samples.at(-1)!
  return [
    ...[store, minutes, published, handled, dead, replayed, discarded, expired, again],
    ...[times('kill'), times('cut'), times('hang')],
    `**${end === undefined ? '?' : Math.max(0, end.missing - end.left) + end.lost}**`,
    violations.length > 0 ? 'fail' : 'pass',
  ]
}

function trendRows(found: readonly StoreFindings[]): string[] {
  const heads = ['store', ...Object.values(SERIES).map(({ name, unit }) => name + (unit && `, ${unit}`))]
  return [
    rowOf(heads),
    rule(heads.length),
    ...found.map(({ store, judged }) => rowOf([store, ...judged.map(cellOf)])),
  ]
}

/** From the second quarter to the last one, the noise, and the slope. */
function cellOf({ series, second, last, noise, perHour, verdict, hasFailed }: JudgedSeries): string {
  if (verdict === 'short') return 'too short'
  const show = (value: number) => value.toFixed(SERIES[series].unit === '' ? 0 : 1)
  const slope = `${perHour < 0 ? '−' : '+'}${Math.abs(perHour).toFixed(1)}/h`
  return `${show(second)} → ${show(last)} ± ${show(noise)}, ${slope}${hasFailed ? ' **rising**' : ''}`
}

function maximum(values: readonly number[]): number {
  return values.reduce((most, value) => Math.max(most, value), 0)
}
