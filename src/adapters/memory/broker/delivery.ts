import { type AttemptLog, TrackedDelivery } from '../../../adapter-kit/delivery/tracked-delivery.ts'
import type { Origin } from '../../../core/dead-letter/letter.ts'

/** The content of a channel: events, and messages of other programs that are not events. */
export type Message = TrackedDelivery['content']

/**
 * One delivery of a message. The next delivery is another object, so that a late settlement of this one cannot settle the
 * next.
 */
export class MemoryDelivery extends TrackedDelivery {
  /** The subscription that holds the delivery, and the neighbours in its list of open deliveries. */
  holder: object | undefined = undefined
  previous: MemoryDelivery | undefined = undefined
  next: MemoryDelivery | undefined = undefined

  // The constructor is explicit, because an implicit one spreads its arguments, and this code runs for every event.
  constructor(channel: string, content: Message, origin: Origin, log?: AttemptLog) {
    super(channel, content, origin, log)
  }

  /** Creates the next delivery of the same message, with the attempts so far. */
  nextDelivery(): MemoryDelivery {
    return new MemoryDelivery(this.channel, this.content, this.origin, this.log)
  }
}
