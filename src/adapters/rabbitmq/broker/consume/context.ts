import type { Delivery } from '../../../../ports/broker.ts'
import type { Link } from '../../connection/link.ts'
import type { RabbitmqSettings } from '../../options.ts'
import type { Topology } from '../topology/topology.ts'
import type { LostDeliveries, SubscribedQueue } from './delivery.ts'
import type { Settler } from './settler.ts'

/** The objects that the parts of one subscription share. */
export interface SubscriptionContext {
  readonly settings: RabbitmqSettings
  readonly source: SubscribedQueue
  readonly prefetch: number
  readonly deliver: (delivery: Delivery) => void
  /** The connection to consume on. */
  readonly link: Link
  readonly topology: Topology
  readonly settler: Settler
  readonly lost: LostDeliveries
  /** Called when the subscription is closed. */
  readonly forget: () => void
}
