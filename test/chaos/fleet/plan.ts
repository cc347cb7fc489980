import type { Size } from '../campaign/draw.ts'

/** `messages` is the number of recovered letters over which the faults are spread. */
export interface CampaignOptions extends Size {
  /** Half of them consume orders from RabbitMQ, the others track events into two HTTP sinks. */
  readonly services: number
  readonly servers: number
  /** How often each thing goes wrong. */
  readonly faults: Readonly<Record<Fault, number>>
}

/**
 * - `kill`: a service or a server, without warning; another one starts in its place.
 * - `restart`: Postgres, which is the store, is stopped in immediate mode and started again.
 */
export type Fault = 'kill' | 'restart'

/** The people who send commands and start replays: two by the API, one by the command line. */
export const PEOPLE = ['ann', 'bob', 'carol'] as const
export type Person = (typeof PEOPLE)[number]

/** A process that was killed, or ended in order at the end. */
export interface Life {
  readonly pid: number
  readonly kind: 'orders' | 'events' | 'server'
  readonly killedAt: number | undefined
}
