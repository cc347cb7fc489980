import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileDeadLetters } from '../../src/adapters/file/index.ts'
import { memoryDeadLetters } from '../../src/adapters/memory/index.ts'
import { http, loki } from '../../src/adapters/sinks/index.ts'
import { createDispatcher, type DispatcherOptions, type Sink } from '../../src/index.ts'
import type { Candidate, Targets } from './candidate.ts'
import { payloadOf, TYPE } from './payload.ts'

/** Not compressed, because the others do not compress either. */
const overHttp = (url: string) => http({ url: `${url}/events`, gzip: false })
const toLoki = (url: string) => loki({ url, labels: { job: 'bench' }, gzip: false })

/** Four requests at once, and a buffer that holds a few of them: what waits for longer outlives a collection of garbage. */
const FAST = {
  concurrency: 4,
  buffer: { maxEvents: 5_000, overflow: 'block' },
} as const

/**
 * With everything on: retries, limits, breakers, timeouts. A caller in a hurry waits for room in the buffers of the
 * sinks that are well. What a dead sink does not take is given up on: dropped, as the others do, or a dead letter.
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

/** What the dead sink does not take is durable in files, which nobody else offers. */
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
