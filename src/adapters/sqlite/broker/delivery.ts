import { decodeAttempts, encodeAttempts, isAttempt } from '../../../adapter-kit/delivery/attempt-history.ts'
import { EMPTY_LOG, TrackedDelivery } from '../../../adapter-kit/delivery/tracked-delivery.ts'
import { undecodable } from '../../../adapter-kit/wire/content.ts'
import type { AttemptRecord, Origin } from '../../../core/dead-letter/letter.ts'
import type { LazaretEvent } from '../../../core/event/event.ts'
import type { Undecodable } from '../../../ports/broker.ts'
import type { EventCodec, TextCodec } from '../../../ports/codec.ts'
import type { DeliveryRow } from '../connection/messages.ts'
import type { OpenDelivery } from './broker-tables.ts'

export class SqliteDelivery extends TrackedDelivery {
  /** The subscription, the owner and the position of the delivery. */
  readonly at: OpenDelivery
  /** The letter that the broker keeps of its event. */
  readonly letterId: string | undefined
  readonly #texts: TextCodec | undefined

  constructor(origin: Origin, channel: string, row: DeliveryRow, codec: EventCodec) {
    const [subscription, owner, place, body, started, ended, text, letterId] = row
    const history = text === null ? EMPTY_LOG.history : historyIn(text, codec)
    super(channel, contentOf(body, codec), origin, { started, ended, history })
    this.at = [subscription, owner, place]
    this.letterId = letterId ?? undefined
    this.#texts = codec.texts
  }

  /** The history with these attempts, to be stored; null when there is nothing to add. */
  withEnded(ended: readonly AttemptRecord[]): string | null {
    if (ended.length === 0) return null
    this.recordEnds(ended)
    return JSON.stringify(encodeAttempts(this.log.history, this.#texts))
  }
}

/** Returns the event. An unreadable event is delivered as it is. */
function contentOf(body: string | Uint8Array, codec: EventCodec): LazaretEvent | Undecodable {
  if (typeof body !== 'string') return { raw: body, problem: 'the event is stored as bytes instead of text' }
  try {
    return codec.decode(body)
  } catch (error) {
    return undecodable(Buffer.from(body), error)
  }
}

/** A history that cannot be read must not keep its event from being delivered. The counts are enough for decisions. */
function historyIn(text: string, codec: EventCodec): readonly AttemptRecord[] {
  try {
    const stored: unknown = JSON.parse(text)
    return Array.isArray(stored) ? decodeAttempts(stored.filter(isAttempt), codec.texts) : EMPTY_LOG.history
  } catch {
    return EMPTY_LOG.history
  }
}
