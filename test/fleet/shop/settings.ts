/**
 * - `orders`: a consumer on RabbitMQ, with its letters in Postgres.
 * - `stock`: a consumer on Redis Streams, with its letters in Redis.
 * - `events`: a dispatcher with two HTTP sinks, with its letters in Postgres.
 */
export type ServiceKind = 'orders' | 'stock' | 'events'

/** The settings of one process of the shop, as its command line has them. */
export interface ServiceSettings {
  readonly kind: ServiceKind
  readonly version: string
  readonly postgres?: string | undefined
  readonly redis?: string | undefined
  readonly amqp?: string | undefined
  /** The address of the systems behind the shop. */
  readonly receiver: string
  /** The folder of the journals. */
  readonly folder: string
  readonly reportEveryMs: number
  /** The number of events that a dispatcher tracks at its start. */
  readonly tracks?: number | undefined
  /** A dispatcher tracks one more event after this time, again and again, until the folder has the file `calm`. */
  readonly tracksEveryMs?: number | undefined
  /** At this letter of a replay the process stands still, right before or right after it sends the letter. */
  readonly hold?: { readonly at: number; readonly when: 'before' | 'after' } | undefined
}

/** The file that ends the tracking. */
export const CALM_FILE = 'calm'
export const ORDERS = { channel: 'orders', handler: 'bill' } as const
export const STOCK = { channel: 'stock', handler: 'reserve' } as const
export const SINKS = ['crm', 'warehouse'] as const
