import { setImmediate as nextTurn } from 'node:timers/promises'
import { parentPort } from 'node:worker_threads'
import { simulate } from './simulate.ts'
import type { Chunk, ChunkReport } from './worker-pool.ts'

/** Unhandled rejections. Each would end the process of a user, so each is a violation. */
const stray: unknown[] = []
process.on('unhandledRejection', reason => stray.push(reason))

parentPort?.on('message', ({ start, count }: Chunk) => {
  void run(start, count).then(report => parentPort?.postMessage(report))
})

async function run(start: number, count: number): Promise<ChunkReport> {
  const failed: ChunkReport['failed'][number][] = []
  let events = 0
  let faults = 0
  for (let seed = start; seed < start + count; seed++) {
    const outcome = await simulate(seed)
    events += outcome.events
    faults += outcome.faults
    // Node reports unhandled rejections only in the next turn of the event loop.
    await nextTurn()
    const unheard = stray
      .splice(0)
      .map(reason => ({ checker: 'completion', message: `unhandled rejection: ${reason}` }))
    const violations = [...outcome.violations, ...unheard]
    if (violations.length > 0) failed.push({ seed, violations })
  }
  return { events, faults, failed }
}
