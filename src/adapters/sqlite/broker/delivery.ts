import { attemptsAtRest, readAttempts } from '../../../adapter-kit/delivery/attempt-history.ts'
import { DEFAULT_MAX_ATTEMPTS_KEPT, keepFirstAndLatest } from '../../../core/dead-letter/caps.ts'
import { type DeliveredReplay, deliveredReplay } from '../../../core/dead-letter/change.ts'
import type { AttemptRecord, Origin } from '../../../core/dead-letter/letter.ts'
import type { LazaretEvent } from '../../../core/event/event.ts'
import type { Delivery, Undecodable } from '../../../ports/broker.ts'
import type { EventCodec, TextCodec } from '../../../ports/codec.ts'
import type { OpenDelivery } from '../connection/calls.ts'
import type { DeliveryRow } from '../connection/connection.ts'

const NO_ATTEMPTS: readonly AttemptRecord[] = Object.freeze([])

/** One handing-over. What consumers see of it never changes; what is recorded meanwhile is told by the next one. */
export class SqliteDelivery implements Delivery {
  readonly channel: string
  readonly content: LazaretEvent | Undecodable
  readonly started: number
  readonly ended: number
  readonly history: readonly AttemptRecord[]
  readonly origin: Origin
  /** Where it is open. */
  readonly at: OpenDelivery
  /** The letter that the broker keeps of its event. */
  readonly letterId: string | undefined
  /** What its event claims to be. */
  readonly replay: DeliveredReplay | undefined
  /** Attempts that were begun here and have not ended. */
  #running = 0
  #historyNow: readonly AttemptRecord[]
  readonly #texts: TextCodec | undefined

  constructor(origin: Origin, channel: string, row: DeliveryRow, codec: EventCodec) {
    const [subscription, owner, place, body, started, ended, history, letterId] = row
    this.channel = channel
    this.content = read(body, codec)
    this.started = started
    this.ended = ended
    this.history = history === null ? NO_ATTEMPTS : readAttempts(JSON.parse(history), codec.texts)
    this.origin = origin
    this.at = [subscription, owner, place]
    this.letterId = letterId ?? undefined
    this.replay = deliveredReplay(this.content)
    this.#historyNow = this.history
    this.#texts = codec.texts
  }

  /** 1 when the last attempt that was begun here has not ended. */
  get takenBack(): 0 | 1 {
    return this.#running > 0 ? 1 : 0
  }

  begun(): void {
    this.#running++
  }

  /** The history with these attempts, to be stored; null when there is nothing to add. */
  withEnded(ended: readonly AttemptRecord[]): string | null {
    if (ended.length === 0) return null
    this.#running -= ended.length
    this.#historyNow = keepFirstAndLatest([...this.#historyNow, ...ended], DEFAULT_MAX_ATTEMPTS_KEPT)
    return JSON.stringify(attemptsAtRest(this.#historyNow, this.#texts))
  }
}

/** What cannot be read is handed over as it is: it becomes a dead letter like everything else. */
function read(body: string | Uint8Array, codec: EventCodec): LazaretEvent | Undecodable {
  if (typeof body !== 'string') return { raw: body, problem: 'bytes where the text of an event should be' }
  try {
    return codec.decode(body)
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error)
    return { raw: new TextEncoder().encode(body), problem }
  }
}
