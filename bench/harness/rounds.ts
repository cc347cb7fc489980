import { atLeast, type Bar, type Row, row } from './result.ts'

/** The rates of each candidate, one for each round. */
export type Samples = Readonly<Record<string, readonly number[]>>

const ROUNDS = 3
/** The share of the work in the warm-up. */
const WARM_UP = 0.1

/**
 * Runs all candidates in every round, in turn, so that a busy moment of the machine affects all of them. The first
 * round is a warm-up with a tenth of the work and is not counted.
 */
export async function takeTurns<C>(
  title: string,
  candidates: Readonly<Record<string, C>>,
  run: (candidate: C, share: number, name: string) => Promise<number>,
): Promise<Samples> {
  const samples: Record<string, number[]> = {}
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [name, candidate] of Object.entries(candidates)) {
      const isWarmUp = round === 0
      const rate = await run(candidate, isWarmUp ? WARM_UP : 1, name)
      process.stderr.write(`${title}, ${name}${isWarmUp ? ' (warming up)' : ''}: ${Math.round(rate)}/s\n`)
      if (!isWarmUp) samples[name] = [...(samples[name] ?? []), rate]
    }
  }
  return samples
}

export function rowsOf(title: string, unit: string, samples: Samples): Row[] {
  return Object.entries(samples).map(([name, rates]) => row(`${title}, ${name}`, unit, rates))
}

/** Ratios are computed for each round, because the speed of the machine differs between rounds. */
export function ratioBar(title: string, samples: Samples, ours: string, peer: string, least: number): Bar {
  const ratios = (samples[ours] ?? []).map((rate, round) => rate / (samples[peer]?.[round] ?? Number.NaN))
  return atLeast(`${title}: ${ours} ÷ ${peer}, median of rounds`, row('', '', ratios).median, least)
}
