import type { Random } from '../../../src/core/random.ts'
import { seededRandom } from '../../../src/testing/seeded-random.ts'

/** How much a campaign is, and what decides it. */
export interface Size {
  readonly seed: number
  readonly messages: number
}

export interface FaultTime<T> {
  readonly fault: T
  /** When so many messages were handled. */
  readonly at: number
}

/** The kind of every message. The shares are met exactly; which message is which is drawn. */
export function drawKinds<K extends string>(
  { seed, messages }: Size,
  shares: Readonly<Record<K, number>>,
): readonly (K | 'valid')[] {
  const kinds: (K | 'valid')[] = Array.from({ length: messages }, () => 'valid')
  let next = 0
  for (const [kind, share] of Object.entries<number>(shares))
    for (let left = Math.ceil(messages * share); left > 0; left--) kinds[next++] = kind as K
  return shuffled(kinds, seededRandom(seed))
}

/** All faults in drawn order, spread over the first nine tenths: at the end nothing is left to be hit. */
export function drawFaultTimes<T extends string>(
  { seed, messages }: Size,
  faults: Readonly<Record<T, number>>,
): readonly FaultTime<T>[] {
  const random = seededRandom(seed + 1)
  const all = Object.entries<number>(faults).flatMap(([fault, times]) =>
    Array.from({ length: times }, () => fault as T),
  )
  const stride = (messages * 0.9) / all.length
  return shuffled(all, random).map((fault, index) => ({
    fault,
    at: Math.floor((index + random()) * stride),
  }))
}

function shuffled<T>(items: readonly T[], random: Random): T[] {
  const mixed = [...items]
  for (let last = mixed.length - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1))
    const held = mixed[last]!
    mixed[last] = mixed[other]!
    mixed[other] = held
  }
  return mixed
}
