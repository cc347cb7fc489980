import { Worker } from 'node:worker_threads'
import type { Violation } from './checkers/checker.ts'

/** The number of worlds in one task of a worker. */
const CHUNK = 50

export interface Chunk {
  readonly start: number
  readonly count: number
}

export interface ChunkReport {
  readonly events: number
  readonly faults: number
  readonly failed: readonly { readonly seed: number; readonly violations: readonly Violation[] }[]
}

export interface Total {
  violations: number
  events: number
  faults: number
}

/** Runs worlds on all cores. Worlds are independent, so any worker can run any world. */
export async function runWorlds(
  { count, start, workers }: Chunk & { readonly workers: number },
  onFailure: (failed: ChunkReport['failed'][number]) => void,
): Promise<Total> {
  const total: Total = { violations: 0, events: 0, faults: 0 }
  const end = start + count
  let next = start
  const takeChunk = (): Chunk | undefined => {
    if (next >= end) return undefined
    const chunk = { start: next, count: Math.min(CHUNK, end - next) }
    next += chunk.count
    return chunk
  }
  const add = ({ events, faults, failed }: ChunkReport) => {
    total.events += events
    total.faults += faults
    for (const world of failed) {
      total.violations += world.violations.length
      onFailure(world)
    }
  }
  await Promise.all(
    Array.from({ length: Math.min(workers, Math.ceil(count / CHUNK)) }, () => work(takeChunk, add)),
  )
  return total
}

function work(takeChunk: () => Chunk | undefined, add: (report: ChunkReport) => void): Promise<void> {
  const worker = new Worker(new URL('./worker.ts', import.meta.url))
  const giveNext = () => {
    const chunk = takeChunk()
    if (chunk === undefined) void worker.terminate()
    else worker.postMessage(chunk)
  }
  return new Promise((resolve, reject) => {
    worker.on('message', (report: ChunkReport) => {
      add(report)
      giveNext()
    })
    worker.on('error', reject)
    worker.on('exit', () => resolve())
    giveNext()
  })
}
