import type { Size } from './draw.ts'

export interface CampaignOptions extends Size {
  readonly queueType: 'quorum' | 'classic'
  /** How often each thing goes wrong. */
  readonly faults: Readonly<Record<Fault, number>>
}

/**
 * - `kill`: the consumer's process, without warning.
 * - `cut`: every connection, of consumer and publisher.
 * - `restart`: the server is killed without warning and started again.
 * - `hang`: the consumer stands still, long enough for the server to give it up, and goes on.
 * - `freeze`: the server stands still, long enough for its clients to give it up, and goes on.
 */
export type Fault = 'kill' | 'cut' | 'restart' | 'hang' | 'freeze'

/** What a handler makes of a message. */
export type Kind = 'valid' | 'transient' | 'permanent' | 'poison'

export const SHARES: Readonly<Record<Exclude<Kind, 'valid'>, number>> = {
  transient: 0.05,
  permanent: 0.01,
  poison: 0.001,
}
