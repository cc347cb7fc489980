import { TrackedDelivery } from '../../../adapter-kit/delivery/tracked-delivery.ts'
import type { LazaretEvent } from '../../../core/event/event.ts'
import type { Undecodable } from '../../../ports/broker.ts'
import { type Entry, type EntryLog, markOf } from './entry.ts'
import type { HandlerKeys, Side } from './keys.ts'

/** One delivery of an entry. */
export class StreamDelivery extends TrackedDelivery {
  readonly side: Side
  readonly id: string
  /** The name of the entry in scripts. */
  readonly mark: string
  /** Whether the server has a record of its attempts, in addition to the log in the entry. */
  hasNotes = false
  readonly #from: string

  constructor(
    broker: string,
    { channel, events }: HandlerKeys,
    entry: Entry,
    log: EntryLog,
    content: LazaretEvent | Undecodable,
  ) {
    super(channel, content, { broker, queue: events, offset: log.from }, log)
    this.side = entry.side
    this.id = entry.id
    this.mark = markOf(entry)
    this.#from = log.from
  }

  /** The log with every attempt that has started. */
  get entryLog(): EntryLog {
    return { ...this.log, from: this.#from }
  }

  /** The log without the latest attempt. The list of running attempts contains that one. */
  get logBeforeThisAttempt(): EntryLog {
    const log = this.entryLog
    return { ...log, started: Math.max(this.started, log.started - 1) }
  }
}
