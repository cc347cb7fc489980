import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { DeadLetter } from '../../src/core/dead-letter/letter.ts'
import { systemClock } from '../../src/ports/clock.ts'

/** The number of concurrent writes. */
export const IN_FLIGHT = 100
export const PER_SECOND = 1_000
/** The writes of a round at a steady rate: three seconds. */
export const PACED = 3 * PER_SECOND
/** The letters of a round at full speed, and the number of rounds. */
export const LETTERS = 20_000
export const ROUNDS = 7
/** The letters of the warm-up: a store runs for days, and its code is compiled in the first second. */
export const WARM_UP = 20_000

export async function withTempFolder<T>(work: (dir: string) => Promise<T>): Promise<T> {
  const dir = await mkdtemp(join(tmpdir(), 'lazaret-bench-'))
  try {
    return await work(dir)
  } finally {
    await rm(dir, { recursive: true })
  }
}

export async function perSecond(count: number, work: () => unknown): Promise<number> {
  const startedAt = process.hrtime.bigint()
  await work()
  return count / (Number(process.hrtime.bigint() - startedAt) / 1e9)
}

/** Sends all letters with a fixed concurrency. */
export async function sendAll(
  letters: readonly DeadLetter[],
  send: (letter: DeadLetter) => Promise<void>,
): Promise<void> {
  let next = 0
  const writer = async () => {
    while (next < letters.length) await send(letters[next++]!)
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, writer))
}

/** The milliseconds of each write at a steady rate. */
export async function pacedLatencies(
  count: number,
  send: (index: number) => Promise<unknown>,
): Promise<number[]> {
  const latencies: number[] = []
  const sends: Promise<void>[] = []
  const startedAt = process.hrtime.bigint()
  const elapsedMs = () => Number(process.hrtime.bigint() - startedAt) / 1e6
  while (sends.length < count) {
    const due = Math.min(count, Math.floor((elapsedMs() * PER_SECOND) / 1_000))
    while (sends.length < due) {
      const sentAt = elapsedMs()
      sends.push(
        send(sends.length).then(() => {
          latencies.push(elapsedMs() - sentAt)
        }),
      )
    }
    await new Promise<void>(resolve => systemClock.schedule(1, resolve))
  }
  await Promise.all(sends)
  return latencies
}

/** One process fills the store and another measures it, so that the fill is not measured. */
export async function fillAndMeasure<T>(fill: readonly string[], measure: readonly string[]): Promise<T> {
  return await withTempFolder(async dir => {
    const run = promisify(execFile)
    const place = join(dir, 'million')
    await run(process.execPath, [...fill, place])
    const { stdout } = await run(process.execPath, [...measure, place])
    return JSON.parse(stdout) as T
  })
}

export async function milliseconds(work: () => Promise<unknown>): Promise<number> {
  const startedAt = process.hrtime.bigint()
  await work()
  return Number(process.hrtime.bigint() - startedAt) / 1e6
}
