import type { Random } from '../../src/core/random.ts'

const RESAMPLES = 2_000
/** The share of resamples inside of the interval. */
const CONFIDENCE = 0.95

export interface RatioEstimate {
  readonly ratio: number
  readonly low: number
  readonly high: number
}

export function medianOf(samples: readonly number[]): number {
  const sorted = [...samples].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/**
 * The mean of the ratios of several processes, with its bootstrap interval. A process counts as one sample, however many
 * rounds it ran: V8 compiles differently in each process, which changes all of its rounds together by some per cent.
 */
export function estimateRatio(ofProcesses: readonly number[], random: Random): RatioEstimate {
  const resampled = Array.from({ length: RESAMPLES }, () =>
    mean(ofProcesses.map(() => ofProcesses[Math.floor(random() * ofProcesses.length)]!)),
  ).sort((a, b) => a - b)
  const outside = Math.floor((RESAMPLES * (1 - CONFIDENCE)) / 2)
  return { ratio: mean(ofProcesses), low: resampled[outside]!, high: resampled[RESAMPLES - 1 - outside]! }
}

function mean(samples: readonly number[]): number {
  return samples.reduce((sum, sample) => sum + sample, 0) / samples.length
}
