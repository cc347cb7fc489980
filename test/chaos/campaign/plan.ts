import type { Random } from '../../../src/core/random.ts'
import { seededRandom } from '../../../src/testing/seeded-random.ts'

export interface CampaignOptions {
  readonly seed: number
  readonly messages: number
  readonly queueType: 'quorum' | 'classic'
  /** How often each thing goes wrong. */
  readonly troubles: Readonly<Record<Trouble, number>>
}

/**
 * - `kill`: the consumer's process, without warning.
 * - `cut`: every connection, of consumer and publisher.
 * - `restart`: the server is killed without warning and started again.
 * - `hang`: the consumer stands still, long enough for the server to give it up, and goes on.
 * - `freeze`: the server stands still, long enough for its clients to give it up, and goes on.
 */
export type Trouble = 'kill' | 'cut' | 'restart' | 'hang' | 'freeze'

/** What a handler makes of a message. */
export type Kind = 'fine' | 'transient' | 'permanent' | 'poison'

export interface Moment {
  readonly trouble: Trouble
  /** When so many messages were handled. */
  readonly at: number
}

export const SHARES: Readonly<Record<Exclude<Kind, 'fine'>, number>> = {
  transient: 0.05,
  permanent: 0.01,
  poison: 0.001,
}

/** The kind of every message. The shares are met exactly; which message is which is drawn. */
export function drawKinds({ seed, messages }: CampaignOptions): readonly Kind[] {
  const kinds: Kind[] = Array.from({ length: messages }, () => 'fine')
  let next = 0
  for (const [kind, share] of Object.entries(SHARES))
    for (let left = Math.ceil(messages * share); left > 0; left--) kinds[next++] = kind as Kind
  return shuffled(kinds, seededRandom(seed))
}

/** All troubles in drawn order, spread over the first nine tenths: at the end nothing is left to be hit. */
export function drawMoments({ seed, messages, troubles }: CampaignOptions): readonly Moment[] {
  const random = seededRandom(seed + 1)
  const all = Object.entries(troubles).flatMap(([trouble, times]) =>
    Array.from({ length: times }, () => trouble as Trouble),
  )
  const stride = (messages * 0.9) / all.length
  return shuffled(all, random).map((trouble, index) => ({
    trouble,
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
