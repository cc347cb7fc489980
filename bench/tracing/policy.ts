import { type Context, context } from '@opentelemetry/api'
import { type ResilientOptions, resilient } from '../../src/index.ts'
import { atLeast, type Bar, median, type Row, row } from '../harness/result.ts'
import { sampledTracing } from './sdk.ts'

const ROUNDS = 15
const REQUESTS = 100
const CALLS_PER_REQUEST = 1_000
const OFF = 'resilient all five in requests, tracing off'
const ON = 'resilient all five in requests, tracing on, 1 % sampled'

/** Nanoseconds per call inside requests, of which one in a hundred is sampled. */
export async function tracedPolicyRows(
  work: (value: number) => Promise<number>,
  options: ResilientOptions,
): Promise<{ rows: Row[]; bars: Bar[] }> {
  const { tracing, requests, close } = sampledTracing()
  const off = resilient(work, options)
  const on = resilient(work, { ...options, tracing })
  const contexts = requests(REQUESTS)
  const samples = { off: [] as number[], on: [] as number[] }
  for (let round = -2; round < ROUNDS; round++) {
    const [tookOff, tookOn] = [await timed(off, contexts), await timed(on, contexts)]
    if (round < 0) continue
    samples.off.push(tookOff)
    samples.on.push(tookOn)
  }
  await close()
  const rows = [row(OFF, 'ns/call', samples.off), row(ON, 'ns/call', samples.on)]
  return {
    rows,
    bars: [atLeast('tracing on / off, calls a second', median(rows, OFF) / median(rows, ON), 0.75)],
  }
}

async function timed(
  call: (value: number) => Promise<number>,
  requests: readonly Context[],
): Promise<number> {
  const startedAt = process.hrtime.bigint()
  for (const request of requests) await context.with(request, () => loop(call))
  return Number(process.hrtime.bigint() - startedAt) / (requests.length * CALLS_PER_REQUEST)
}

async function loop(call: (value: number) => Promise<number>): Promise<void> {
  for (let index = 0; index < CALLS_PER_REQUEST; index++) await call(index)
}
