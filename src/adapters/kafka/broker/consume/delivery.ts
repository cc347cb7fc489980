import { TrackedDelivery } from '../../../../adapter-kit/delivery/tracked-delivery.ts'
import { decode } from '../wire/event-codec.ts'
import type { HeaderTexts } from '../wire/headers.ts'
import type { RecordLog } from '../wire/record-log.ts'
import type { Entry } from './partition.ts'

/** One delivery of a record. */
export class KafkaDelivery extends TrackedDelivery {
  readonly entry: Entry

  constructor(entry: Entry, channel: string, texts: HeaderTexts, { log, origin }: RecordLog) {
    const { known, partition, record } = entry
    const crashes = known === undefined ? partition.window.crashesOf(record.offset) : 0
    super(
      channel,
      decode(record, channel, origin, texts),
      origin,
      known ?? (crashes === 0 ? log : { ...log, started: log.started + crashes }),
    )
    this.entry = entry
  }

  /** Something of this delivery is not in its record: it is written when the delivery is given back. */
  get isChanged(): boolean {
    const { started, ended } = this.log
    const { known, isHeld } = this.entry
    return (known !== undefined && !isHeld) || started > this.started || ended > this.ended
  }
}
