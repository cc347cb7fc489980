import { PermanentError } from '../src/core/failure/signals.ts'
import { resilient } from '../src/runtime/resilient/resilient.ts'
import { percentile } from './harness/percentile.ts'
import { atMost, type Bar, type Row, row } from './harness/result.ts'

const CALLS = 200_000
const WARM_UP = 50_000
const ROUNDS = 5
const SHARES = { p50: 0.5, p99: 0.99, 'p99.9': 0.999 } as const
/** The machinery may add this much to a call at p99 (E21). */
const MAX_ADDED_MICROSECONDS = 50

type Options = Parameters<typeof resilient>[1]
type Call = () => Promise<unknown>

async function succeed(): Promise<number> {
  return 1
}

/** One error for all calls: making its stack is the cost of the caller's function. */
const FAILURE = new PermanentError('the card is blocked')

async function fail(): Promise<never> {
  throw FAILURE
}

/** The microseconds of each awaited call, whether it succeeds or not. */
async function latencies(call: Call, count: number): Promise<number[]> {
  const found: number[] = []
  for (let index = 0; index < count; index++) {
    const startedAt = process.hrtime.bigint()
    try {
      await call()
    } catch {
      // A failing call is measured up to its error.
    }
    found.push(Number(process.hrtime.bigint() - startedAt) / 1e3)
  }
  return found
}

/**
 * What protection adds to a call: percentiles of successful calls, and of calls with a permanent error, which no retry
 * prolongs. The breaker never opens, so that every call is attempted. The bare function runs in every round too, in
 * turn, and what it takes is subtracted, as is the time to read the clock.
 */
export async function latencyRows(options: Options): Promise<{ rows: Row[]; bars: Bar[] }> {
  const protectedBy = { ...options, breaker: { failures: Number.MAX_SAFE_INTEGER } }
  const kinds: readonly (readonly [name: string, bare: Call, guarded: Call])[] = [
    ['successful call', succeed, resilient(succeed, protectedBy)],
    ['failing call', fail, resilient(fail, protectedBy)],
  ]
  const rows: Row[] = []
  const bars: Bar[] = []
  for (const [name, bare, guarded] of kinds) {
    await latencies(bare, WARM_UP)
    await latencies(guarded, WARM_UP)
    const samples = { bare: [] as number[][], guarded: [] as number[][] }
    for (let round = 0; round < ROUNDS; round++) {
      samples.bare.push(await latencies(bare, CALLS))
      samples.guarded.push(await latencies(guarded, CALLS))
    }
    for (const [share, value] of Object.entries(SHARES)) {
      const of = (rounds: readonly number[][]) => rounds.map(each => percentile(each, value))
      rows.push(
        row(`${name}, bare, ${share}`, 'µs', of(samples.bare)),
        row(`${name}, all five, ${share}`, 'µs', of(samples.guarded)),
      )
    }
    const added = samples.guarded.map(
      (each, round) => percentile(each, SHARES.p99) - percentile(samples.bare[round]!, SHARES.p99),
    )
    bars.push(
      atMost(`${name}: added by all five at p99, µs`, row('', '', added).median, MAX_ADDED_MICROSECONDS),
    )
  }
  return { rows, bars }
}
