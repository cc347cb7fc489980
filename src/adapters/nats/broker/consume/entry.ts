import { type AttemptLog, TrackedDelivery } from '../../../../adapter-kit/delivery/tracked-delivery.ts'
import type { LineEvent } from '../../../../adapter-kit/ordered/lines.ts'
import { headerText } from '../../connection/headers.ts'
import { decode } from '../wire/event-codec.ts'
import { OWN } from '../wire/headers.ts'
import type { StreamMessage } from '../wire/message.ts'
import type { MessageLog } from '../wire/message-log.ts'

/** Which stream of a channel a message came from. */
export type Source = 'events' | 'retries'

/** A message that was received and is not settled. */
export interface Entry {
  readonly source: Source
  readonly message: StreamMessage
  /** Where the latest delivery of the message is acknowledged; undefined if it is settled on the server. */
  ackSubject: string | undefined
  readonly log: MessageLog
  /** A consumer that had it has gone without settling it. It runs alone, because it may have crashed its process. */
  isSuspect: boolean
  /** What is known of its attempts beyond its log. */
  known: AttemptLog | undefined
  /** Where the state stream notes its attempts; undefined if it does not. */
  noteAt: number | undefined
  /** Where it stands in the line of its key, if the order is kept. */
  line: LineEvent<Entry> | undefined
  /** It is stored in the state stream, and its attempts are counted there. */
  isHeld: boolean
}

/**
 * Names a message among those of a subscription. A stream that was deleted and made again uses its names again. It is a number,
 * because every message is looked for several times, and a text would have to be made for each.
 */
export function entryKey(source: Source, sequence: number): number {
  return source === 'events' ? 2 * sequence : 2 * sequence + 1
}

/** Names a message for good: one of a stream that was made again has another time. */
export function permanentKey({ source, message }: Entry): string {
  return `${message.storedAt.toString(36)}-${source === 'events' ? 'e' : 'r'}${message.sequence}`
}

/** The message of a permanent key. Undefined if the text is not such a key. */
export function readPermanentKey(
  key: string,
): { readonly source: Source; readonly sequence: number; readonly storedAt: number } | undefined {
  const [, time, stream, sequence] = /^([0-9a-z]+)-([er])([0-9]+)$/.exec(key) ?? []
  if (time === undefined) return undefined
  const source = stream === 'e' ? 'events' : 'retries'
  return { source, sequence: Number(sequence), storedAt: Number.parseInt(time, 36) }
}

/**
 * The id of the dead-lettered event whose key is unblocked, if the message asks for that. It comes with the retries only: a
 * message of the channel can be from anybody.
 */
export function keyToUnblock({ source, message }: Entry): string | undefined {
  if (source !== 'retries') return undefined
  const text = headerText(message.headers, OWN.unblockKey)
  if (text === undefined) return undefined
  try {
    return String(JSON.parse(text))
  } catch {
    return text
  }
}

/** One delivery of an entry. */
export class NatsDelivery extends TrackedDelivery {
  readonly entry: Entry

  constructor(entry: Entry, channel: string) {
    const { log, message, known } = entry
    super(channel, decode(message, channel, log.origin), log.origin, known ?? log.log)
    this.entry = entry
  }

  /** An attempt began or ended in this delivery. */
  get isChanged(): boolean {
    const { started, ended } = this.log
    return started > this.started || ended > this.ended
  }
}
