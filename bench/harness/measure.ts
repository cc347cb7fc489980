import { type Row, row } from './result.ts'

export interface Candidate {
  readonly name: string
  readonly call: () => Promise<unknown>
}

export interface Rounds {
  readonly rounds: number
  readonly callsPerRound: number
  readonly warmUpCalls: number
}

/**
 * Nanoseconds per awaited call. Runs all candidates in every round, in turn, so that a busy moment of the machine
 * affects all of them. A tenth of each round runs first without measurement, so that no candidate pays for the garbage
 * of the one before.
 */
export async function nanosecondsPerCall(candidates: readonly Candidate[], rounds: Rounds): Promise<Row[]> {
  const samples = candidates.map(() => [] as number[])
  for (const { call } of candidates) await loop(call, rounds.warmUpCalls)
  for (let round = 0; round < rounds.rounds; round++) {
    for (const [index, { call }] of candidates.entries()) {
      await loop(call, rounds.callsPerRound / 10)
      const startedAt = process.hrtime.bigint()
      await loop(call, rounds.callsPerRound)
      samples[index]?.push(Number(process.hrtime.bigint() - startedAt) / rounds.callsPerRound)
    }
  }
  return candidates.map(({ name }, index) => row(name, 'ns/call', samples[index] ?? []))
}

async function loop(call: () => Promise<unknown>, times: number): Promise<void> {
  for (let index = 0; index < times; index++) await call()
}

/** The heap growth in bytes after a number of calls, between two forced garbage collections. */
export async function heapGrowthBytes(call: () => Promise<unknown>, calls: number): Promise<number> {
  if (globalThis.gc === undefined) throw new Error('bench: run with --expose-gc (npm run bench does)')
  await loop(call, 100_000)
  globalThis.gc()
  const before = process.memoryUsage().heapUsed
  await loop(call, calls)
  globalThis.gc()
  return process.memoryUsage().heapUsed - before
}
