import * as cockatiel from 'cockatiel'
import CircuitBreaker from 'opossum'
import type { Observer } from '../src/ports/observer.ts'
import { createMetrics } from '../src/runtime/metrics/create-metrics.ts'
import { resilient } from '../src/runtime/resilient/resilient.ts'
import { heapGrowthBytes, nanosecondsPerCall } from './harness/measure.ts'
import {
  atLeast,
  atMost,
  type BenchResult,
  METRICS_ON_AT_LEAST,
  machine,
  median,
  row,
} from './harness/result.ts'
import { latencyRows } from './policy-latency.ts'
import { tracedPolicyRows } from './tracing/policy.ts'

const TIMEOUT_MS = 2_000
const CALLS_FOR_GROWTH = 10_000_000
const MEBIBYTE = 2 ** 20

/** The function under protection: async, with one argument, doing nothing. */
async function work(value: number): Promise<number> {
  return value
}

async function handWritten(value: number): Promise<number> {
  return await work(value)
}

function cockatielRetry() {
  return cockatiel.retry(cockatiel.handleAll, {
    maxAttempts: 3,
    backoff: new cockatiel.ExponentialBackoff(),
  })
}

function cockatielBreaker() {
  return cockatiel.circuitBreaker(cockatiel.handleAll, {
    halfOpenAfter: 30_000,
    breaker: new cockatiel.ConsecutiveBreaker(5),
  })
}

class Counting implements Observer {
  calls = 0
  callSucceeded = () => {
    this.calls++
  }
}

const FIVE = {
  retry: {},
  breaker: {},
  rateLimit: { perSecond: 4e6, burst: 4e6 },
  budget: {},
  timeoutMs: TIMEOUT_MS,
}

export async function run(): Promise<BenchResult> {
  const two = cockatiel.wrap(cockatielRetry(), cockatielBreaker())
  const three = cockatiel.wrap(
    cockatielRetry(),
    cockatielBreaker(),
    cockatiel.timeout(TIMEOUT_MS, cockatiel.TimeoutStrategy.Aggressive),
  )
  const one = cockatielRetry()
  const opossum = new CircuitBreaker(work, { timeout: TIMEOUT_MS })
  const resilient1 = resilient(work, { retry: {} })
  const resilient3 = resilient(work, { retry: {}, breaker: {}, timeoutMs: TIMEOUT_MS })
  const resilient5 = resilient(work, FIVE)
  const observed = resilient(work, { ...FIVE, observer: new Counting() })
  const metered = resilient(work, { ...FIVE, observer: createMetrics().observer })

  const rows = await nanosecondsPerCall(
    [
      { name: 'bare await', call: () => work(1) },
      { name: 'one async wrapper', call: () => handWritten(1) },
      { name: 'cockatiel retry', call: () => one.execute(() => work(1)) },
      { name: 'cockatiel retry+breaker', call: () => two.execute(() => work(1)) },
      { name: 'cockatiel retry+breaker+timeout', call: () => three.execute(() => work(1)) },
      { name: 'opossum breaker+timeout', call: () => opossum.fire(1) },
      { name: 'resilient retry', call: () => resilient1(1) },
      { name: 'resilient retry+breaker+timeout', call: () => resilient3(1) },
      { name: 'resilient all five', call: () => resilient5(1) },
      { name: 'resilient all five, metrics on', call: () => metered(1) },
      { name: 'resilient all five, observed', call: () => observed(1) },
    ],
    { rounds: 9, callsPerRound: 100_000, warmUpCalls: 100_000 },
  )
  opossum.shutdown()
  const grown = (await heapGrowthBytes(() => observed(1), CALLS_FOR_GROWTH)) / MEBIBYTE
  const traced = await tracedPolicyRows(work, FIVE)
  const latency = await latencyRows(FIVE)
  return {
    bench: 'policy',
    machine: machine(),
    rows: [...rows, row('heap growth over 10 M calls', 'MiB', [grown]), ...traced.rows, ...latency.rows],
    bars: [
      atMost(
        'all five with observer ÷ cockatiel retry+breaker',
        median(rows, 'resilient all five, observed') / median(rows, 'cockatiel retry+breaker'),
        1,
      ),
      atLeast(
        'all five, metrics on ÷ off, calls a second',
        median(rows, 'resilient all five') / median(rows, 'resilient all five, metrics on'),
        METRICS_ON_AT_LEAST,
      ),
      atMost('heap growth over 10 M calls, MiB', grown, 1),
      ...traced.bars,
      ...latency.bars,
    ],
  }
}
