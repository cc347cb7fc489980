import { type AttemptLog, TrackedDelivery } from '../../../adapter-kit/delivery/tracked-delivery.ts'
import type { Origin } from '../../../core/dead-letter/letter.ts'

/** The content of a channel: events, and messages of other programs that are not events. */
export type Message = TrackedDelivery['content']

/**
 * One handing-over of a message. The next one is another object, so that a settlement of this one that comes too late
 * cannot be mistaken for a settlement of that.
 */
export class MemoryDelivery extends TrackedDelivery {
  /** The subscription that has it open, and its neighbours among the open deliveries there. */
  holder: object | undefined = undefined
  previous: MemoryDelivery | undefined = undefined
  next: MemoryDelivery | undefined = undefined

  // Written out, because an implicit constructor spreads its arguments, and one runs for every event.
  constructor(channel: string, content: Message, origin: Origin, log?: AttemptLog) {
    super(channel, content, origin, log)
  }

  /** The next handing-over of the same message, with the attempts of this one. */
  nextDelivery(): MemoryDelivery {
    return new MemoryDelivery(this.channel, this.content, this.origin, this.log)
  }
}
