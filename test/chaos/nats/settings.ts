import type { NatsStart } from '../../services/nats.ts'
import { NODES } from '../cluster/plan.ts'

/** What can go wrong with NATS beside the faults of every cluster. */
export type NatsFault = 'leader' | 'all'

export const NATS_FAULTS: Readonly<Record<NatsFault, string>> = {
  leader: 'leader of a stream, a consumer or the cluster changed',
  all: 'all servers killed (SIGKILL) at once and restarted',
}

/** Short timeouts: a fault is noticed within seconds, so that a campaign has time for many. */
export const FAST_DETECTION = {
  ackWaitMs: 6_000,
  leaseMs: 3_000,
  requestTimeoutMs: 2_000,
  replicas: NODES,
} as const

/** `always`: each server writes to disk before it confirms. */
export function clusterOf(sync: 'default' | 'always', nodes = NODES): NatsStart {
  return { nodes, ...(sync === 'always' && { jetstream: 'sync_interval: always' }) }
}
