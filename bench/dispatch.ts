import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Measure, Report } from './dispatch/sender.ts'
import { atLeast, atMost, type Bar, type BenchResult, machine, type Row, row } from './harness/result.ts'

/** For a quick look: LAZARET_BENCH_EVENTS=20000 npm run bench dispatch. */
const EVENTS = Number(process.env['LAZARET_BENCH_EVENTS'] ?? 200_000)
const ROUNDS = Number(process.env['LAZARET_BENCH_ROUNDS'] ?? 5)
/** Some of the measures: LAZARET_BENCH_ONLY=one,calls npm run bench dispatch. */
const ONLY = process.env['LAZARET_BENCH_ONLY']?.split(',')
/** Twice the buffers of three sinks. The heap after a quarter of the run must be the heap at its end. */
const GROWTH_MB = 32

const OURS = 'lazaret, http'
const TO_LOKI = 'lazaret, loki'
const KEEPING = 'lazaret, http, dead letters in files'
const PEERS = ['pino + pino-loki', 'OpenTelemetry, JSON', 'OpenTelemetry, protobuf']
const ALL = [OURS, TO_LOKI, ...PEERS]

const TITLES: Readonly<Record<Measure, string>> = {
  one: 'one sink',
  three: 'three sinks, one of them dead',
  calls: 'a call, as its caller sees it',
  memory: 'memory with a dead sink',
}

const TAKES_PART: Readonly<Record<Measure, readonly string[]>> = {
  one: ALL,
  three: [OURS, TO_LOKI, KEEPING, ...PEERS],
  calls: ALL,
  // This measure has no dead letters in files, because the index of that store grows with them, as designed.
  memory: [OURS],
}

type Reports = Readonly<Record<string, readonly Report[]>>

/** Each candidate runs in its own process, so that none pays for the garbage or threads of another. */
async function measureOnce(name: string, measure: Measure): Promise<Report> {
  const sender = fileURLToPath(new URL('dispatch/sender.ts', import.meta.url))
  const words = ['--no-warnings', '--expose-gc', sender, name, measure, String(EVENTS)]
  const { stdout } = await promisify(execFile)(process.execPath, words)
  const report = JSON.parse(stdout) as Report
  process.stderr.write(`${TITLES[measure]}, ${name}: ${JSON.stringify(report)}\n`)
  return report
}

/** Runs all candidates in every round, in turn, so that a busy moment of the machine affects all of them. */
async function take(measure: Measure): Promise<Reports> {
  const reports: Record<string, Report[]> = {}
  for (let round = 0; round < ROUNDS; round++)
    for (const name of TAKES_PART[measure])
      reports[name] = [...(reports[name] ?? []), await measureOnce(name, measure)]
  return reports
}

/** Compares each round with the best of the others in the same round. */
function againstPeers(measure: Measure, reports: Reports, ours: string): Bar {
  const rateOf = (name: string, round: number) => reports[name]?.[round]?.perSecond ?? Number.NaN
  const ratios = (reports[ours] ?? []).map(
    ({ perSecond }, round) => perSecond / Math.max(...PEERS.map(peer => rateOf(peer, round))),
  )
  const name = `${TITLES[measure]}: ${ours} ÷ the best of the others, median of rounds`
  return atLeast(name, row('', '', ratios).median, 2)
}

function rateRows(measure: Measure, reports: Reports): Row[] {
  return Object.entries(reports).map(([name, all]) =>
    row(
      `${TITLES[measure]}, ${name}`,
      'events/s',
      all.map(({ perSecond }) => perSecond),
    ),
  )
}

function callRows(reports: Reports): Row[] {
  return Object.entries(reports).flatMap(([name, all]) =>
    (['mean', 'p99'] as const).map(of =>
      row(
        `${TITLES.calls}, ${of}, ${name}`,
        'µs',
        all.map(({ callsUs }) => callsUs?.[of] ?? Number.NaN),
      ),
    ),
  )
}

function memoryRows(reports: Reports): Row[] {
  return Object.entries(reports).flatMap(([name, all]) =>
    (['early', 'late'] as const).map(of =>
      row(
        `${TITLES.memory}, ${of === 'early' ? 'a quarter sent' : 'all sent'}, ${name}`,
        'MiB',
        all.map(({ memoryMb }) => memoryMb?.[of] ?? Number.NaN),
      ),
    ),
  )
}

function callBars(reports: Reports): Bar[] {
  const median = (of: 'mean' | 'p99') =>
    row(
      '',
      '',
      (reports[OURS] ?? []).map(({ callsUs }) => callsUs?.[of] ?? Number.NaN),
    ).median
  return [
    atMost(`${TITLES.calls}: mean, µs`, median('mean'), 3),
    atMost(`${TITLES.calls}: p99, µs`, median('p99'), 50),
  ]
}

function memoryBars(reports: Reports): Bar[] {
  return Object.entries(reports).map(([name, all]) => {
    const growths = all.map(({ memoryMb }) => (memoryMb ? memoryMb.late - memoryMb.early : Number.NaN))
    return atMost(`${TITLES.memory}: growth in MiB, ${name}`, Math.max(...growths), GROWTH_MB)
  })
}

export async function run(): Promise<BenchResult> {
  const rows: Row[] = []
  const bars: Bar[] = []
  for (const measure of Object.keys(TITLES) as Measure[]) {
    if (ONLY !== undefined && !ONLY.includes(measure)) continue
    const reports = await take(measure)
    if (measure === 'calls') {
      rows.push(...callRows(reports))
      bars.push(...callBars(reports))
    } else if (measure === 'memory') {
      rows.push(...memoryRows(reports))
      bars.push(...memoryBars(reports))
    } else {
      rows.push(...rateRows(measure, reports))
      bars.push(againstPeers(measure, reports, OURS))
    }
  }
  return { bench: 'dispatch', machine: machine(), rows, bars }
}
