import type { StallReporter } from '../../../../adapter-kit/delivery/stalls.ts'
import type { Delivery, StalledPart } from '../../../../ports/broker.ts'
import type { Cluster } from '../../connection/cluster.ts'
import type { Producer } from '../../connection/producer.ts'
import type { KafkaRecord } from '../../connection/records.ts'
import type { KafkaSettings } from '../../options.ts'
import type { HandlerTopics } from '../topics/names.ts'
import type { Topics } from '../topics/topics.ts'
import type { HeaderTexts } from '../wire/headers.ts'
import type { RecordLog } from '../wire/record-log.ts'
import type { AssignedPartition } from './partition.ts'

/** The objects that the parts of one subscription share. */
export interface SubscriptionContext {
  readonly settings: KafkaSettings
  readonly cluster: Cluster
  readonly producer: Producer
  readonly topics: Topics
  readonly names: HandlerTopics
  readonly channel: string
  readonly prefetch: number
  /** The events of a key are delivered in their order. */
  readonly isOrdered: boolean
  /** A name that no other subscription has. */
  readonly id: string
  readonly deliver: (delivery: Delivery) => void
  /** What our records carry. A record of the channel can be from anybody, so that nothing it says of attempts counts. */
  readonly logOf: (record: KafkaRecord, texts?: HeaderTexts) => RecordLog
  readonly stalls: StallReporter
  /** Repeats work until it succeeds, for as long as the partition is ours. False if it is not any more. */
  readonly persist: (
    partition: AssignedPartition,
    part: StalledPart,
    work: () => Promise<void>,
  ) => Promise<boolean>
  /** Called when the subscription is closed. */
  readonly forget: () => void
}
