import { setImmediate } from 'node:timers/promises'
import { seededRandom } from '../../src/testing/seeded-random.ts'
import { medianOf } from './statistics.ts'
import type { Build, Workload } from './workloads.ts'

// One process of a comparison: runs a workload on both builds in turn, and prints the median ratio of their CPU times.

const ROUND_US = 5_000
const WARM_UP_US = 700_000
const FIRST_COUNT = 1_000
/** Counts are multiples of this, because workloads run in bursts. */
const COUNT_STEP = 250

const [before = '', now = '', name = '', pairs = '', seed = ''] = process.argv.slice(2)
const random = seededRandom(Number(seed))
const sides = { before, now }
type Side = keyof typeof sides

async function load(side: Side): Promise<Workload> {
  const build: Build = {
    lazaret: await import(`${sides[side]}/index.js`),
    memory: await import(`${sides[side]}/adapters/memory/index.js`),
  }
  const own = (await import(`./workloads.ts?${side}`)) as typeof import('./workloads.ts')
  return own.workloads(build)[name]!()
}

/** CPU time, because other programs and the waits of retries do not count towards it. */
class CpuStopwatch {
  #startedAt = process.cpuUsage()
  us = 0

  start(): void {
    this.#startedAt = process.cpuUsage()
  }

  stop(): void {
    const { user, system } = process.cpuUsage(this.#startedAt)
    this.us = user + system
  }
}

function inRandomOrder(): readonly Side[] {
  return random() < 0.5 ? ['before', 'now'] : ['now', 'before']
}

// Processes take turns in which build they load first.
const order: readonly Side[] = Number(seed) % 2 === 0 ? ['before', 'now'] : ['now', 'before']
const loaded = new Map<Side, Workload>()
for (const side of order) loaded.set(side, await load(side))

const stopwatch = new CpuStopwatch()
async function microseconds(side: Side, count: number): Promise<number> {
  await setImmediate()
  await loaded.get(side)!(count, stopwatch)
  return stopwatch.us
}

async function pair(count: number): Promise<Record<Side, number>> {
  const us = { before: 0, now: 0 }
  for (const side of inRandomOrder()) us[side] = await microseconds(side, count)
  return us
}

const warmUp: number[] = []
for (let total = 0; total < WARM_UP_US; ) {
  const { before, now } = await pair(FIRST_COUNT)
  total += before + now
  warmUp.push(now)
}
const steps = Math.round((FIRST_COUNT * ROUND_US) / medianOf(warmUp) / COUNT_STEP)
const count = Math.max(1, steps) * COUNT_STEP
const ratios: number[] = []
while (ratios.length < Number(pairs)) {
  const { before, now } = await pair(count)
  ratios.push(now / before)
}
process.stdout.write(JSON.stringify(medianOf(ratios)))
process.exit()
