import type { Size } from '../campaign/draw.ts'

export { type Kind, SHARES } from '../redis/plan.ts'

export const BROKERS = ['rabbitmq', 'postgres', 'redis', 'kafka', 'nats'] as const
export type BrokerName = (typeof BROKERS)[number]

/** What can go wrong between the server and some of the hosts. It lasts for a drawn time. */
export const FAULTS = {
  partition: 'nothing gets through',
  sending: 'what the host sends does not get through',
  receiving: 'what the server sends does not get through',
  loss: 'every second to fifth packet is lost',
  latency: 'each way takes 50 to 500 ms longer',
  reset: 'connections are reset, and new ones too',
  'dead-host': 'cut off, its consumer killed: half-open at the server',
  'dead-server': 'all hosts cut off, the server killed and restarted: half-open at the hosts',
} as const
export type Fault = keyof typeof FAULTS

export interface CampaignOptions extends Size {
  readonly broker: BrokerName
  readonly consumers: number
  /** Some faults end before a client gives its connection up, the others when its lease has ended too. */
  readonly longestFaultMs: number
  /** How often each thing goes wrong. */
  readonly faults: Readonly<Record<Fault, number>>
}

/** As many of each kind as of any other, or one more. `chosen` has kinds with commas between them, or `all`. */
export function spreadFaults(count: number, chosen = 'all'): Readonly<Record<Fault, number>> {
  const kinds = Object.keys(FAULTS) as Fault[]
  const wanted = chosen === 'all' ? kinds : chosen.split(',')
  const unknown = wanted.find(kind => !(kind in FAULTS))
  if (unknown !== undefined) throw new Error(`'${unknown}' is not one of ${kinds.join(', ')}`)
  const times = (kind: Fault) => Math.max(0, Math.ceil((count - wanted.indexOf(kind)) / wanted.length))
  const spread = kinds.map(kind => [kind, wanted.includes(kind) ? times(kind) : 0])
  return Object.fromEntries(spread)
}

export const CHANNEL = 'campaign'

export const SHORTEST_FAULT_MS = 1_000
/** How long hosts see resets before their connections take the slow way. */
export const DETOUR_MS = 300
/** One fault in so many hits several hosts. */
export const ONE_IN_SEVERAL = 3

export const PER_BATCH = 5
/** The pause between two batches. Faults come at a number of handled events, so publishing takes about as long as all faults. */
export function publishPauseMs({ messages, faults, longestFaultMs }: CampaignOptions): number {
  const times = Object.values(faults).reduce((sum, count) => sum + count, 0)
  const faultMs = (SHORTEST_FAULT_MS + longestFaultMs) / 2 + 1_000
  return Math.floor((times * faultMs * PER_BATCH) / messages)
}

/** A campaign in which nothing is handled for so long has lost something. */
export const STILL_MS = 90_000

/** Files of a campaign: what the producer is to publish, and the ids for which publishing resolved. */
export const EVENTS = 'events.json'
export const ACCEPTED = 'accepted'

/** What a process says when its consumer has closed, and the clients of the handler have not. */
export const CONSUMER_CLOSED = 'consumer closed'
