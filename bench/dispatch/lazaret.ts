import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileDeadLetters } from '../../src/adapters/file/index.ts'
import { memoryDeadLetters } from '../../src/adapters/memory/index.ts'
import { http, loki } from '../../src/adapters/sinks/index.ts'
import { createDispatcher, type DispatcherOptions, type Sink } from '../../src/index.ts'
import type { Candidate, Targets } from './candidate.ts'
import { payloadOf, TYPE } from './payload.ts'

/** Without compression, as for the other candidates. */
const overHttp = (url: string) => http({ url: `${url}/events`, gzip: false })
const toLoki = (url: string) => loki({ url, labels: { job: 'bench' }, gzip: false })

/**
 * Four concurrent requests and a small buffer: events that wait longer survive a garbage collection and make it
 * slower.
 */
const FAST = {
  concurrency: 4,
  buffer: { maxEvents: 5_000, overflow: 'block' },
} as const

/**
 * With retries, limits, breakers and timeouts. A fast caller waits for room in the buffers of working sinks. Events
 * for a dead sink are dropped, as the other candidates do, or become dead letters.
 */
function candidate(
  sinkAt: (url: string) => Sink,
  { live, dead }: Targets,
  letters: Pick<DispatcherOptions, 'deadLetters' | 'filter'>,
): Candidate {
  const sinks = Object.fromEntries([...live, ...dead].map((url, index) => [`sink${index}`, sinkAt(url)]))
  const events = createDispatcher({ ...letters, ...FAST, sinks })
  let last: Promise<unknown> = Promise.resolve()
  return {
    emit(order) {
      last = events.track({ type: TYPE, payload: payloadOf(order) }, { wait: 'accepted' })
    },
    room: () => last,
    close: () => events.close({ graceMs: 0 }),
  }
}

const dropped = { deadLetters: memoryDeadLetters(), filter: { never: [/./] } }

export const lazaretHttp = (targets: Targets) => candidate(overHttp, targets, dropped)
export const lazaretLoki = (targets: Targets) => candidate(toLoki, targets, dropped)

/** Events for the dead sink become durable letters in files. No other candidate offers this. */
export function lazaretKeeping(targets: Targets): Candidate {
  const dir = mkdtempSync(join(tmpdir(), 'lazaret-bench-'))
  const made = candidate(overHttp, targets, { deadLetters: fileDeadLetters({ dir }), filter: {} })
  return {
    ...made,
    async close() {
      await made.close()
      rmSync(dir, { recursive: true })
    },
  }
}
