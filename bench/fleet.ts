import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { type CrowdSize, crowdRows } from './fleet/crowd.ts'
import { type OtherStoresSize, otherStoreRows } from './fleet/other-stores.ts'
import { type PresenceSize, presenceRows } from './fleet/presence.ts'
import { type BenchResult, machine } from './harness/result.ts'

/** For a larger or a smaller fleet: LAZARET_BENCH_INSTANCES=200 npm run bench fleet. */
const INSTANCES = Number(process.env['LAZARET_BENCH_INSTANCES'] ?? 1_000)
/** One of the parts: LAZARET_BENCH_ONLY=crowd npm run bench fleet. */
const ONLY = process.env['LAZARET_BENCH_ONLY']

const PRESENCE: PresenceSize = { rounds: 40, memoryEvents: 300_000, postgresEvents: 30_000 }
const CROWD: CrowdSize = { instances: INSTANCES, windowMs: 60_000, rounds: 10, viewers: 10, hasBrowser: true }
const OTHER_STORES: OtherStoresSize = {
  redisInstances: INSTANCES,
  sqliteInstances: Math.min(INSTANCES, 50),
  windowMs: 30_000,
  letters: 20_000,
}

/** The cost of presence for a consumer, and of many processes for their store and server. */
export async function run(): Promise<BenchResult> {
  await promisify(execFile)('npm', ['run', 'build'])
  const parts = {
    presence: () => presenceRows(PRESENCE),
    crowd: () => crowdRows(CROWD),
    stores: () => otherStoreRows(OTHER_STORES),
  }
  const found = []
  for (const [name, measure] of Object.entries(parts))
    if (ONLY === undefined || ONLY === name) found.push(await measure())
  return {
    bench: 'fleet',
    machine: machine(),
    rows: found.flatMap(({ rows }) => rows),
    bars: found.flatMap(({ bars }) => bars),
  }
}
