import { DEFAULT_MAX_ATTEMPTS_KEPT, keepFirstAndLatest } from '../../../core/dead-letter/caps.ts'
import type { AttemptRecord, Origin } from '../../../core/dead-letter/letter.ts'
import type { LazaretEvent } from '../../../core/event/event.ts'
import { redirectedFrom } from '../../../core/event/replay-headers.ts'
import type { Delivery, Undecodable } from '../../../ports/broker.ts'
import type { EventCodec } from '../../../ports/letter-codec.ts'
import type { OpenDelivery } from '../calls.ts'
import type { DeliveryRow } from './connection.ts'

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
  /** The letter of another channel that a replay has redirected here. */
  readonly redirectedFrom: string | undefined
  /** Attempts that were begun here and have not ended. */
  #running = 0
  #historyNow: readonly AttemptRecord[]

  constructor(origin: Origin, channel: string, row: DeliveryRow, codec: EventCodec) {
    const [subscription, owner, place, body, started, ended, history, letterId] = row
    this.channel = channel
    this.content = read(body, codec)
    this.started = started
    this.ended = ended
    this.history = history === null ? NO_ATTEMPTS : readHistory(history)
    this.origin = origin
    this.at = [subscription, owner, place]
    this.letterId = letterId ?? undefined
    this.redirectedFrom = 'raw' in this.content ? undefined : redirectedFrom(this.content.headers)
    this.#historyNow = this.history
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
    return JSON.stringify(this.#historyNow)
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

/** An attempt has all of its fields, unset ones as undefined, which JSON leaves out. */
function readHistory(text: string): readonly AttemptRecord[] {
  const attempts: readonly AttemptRecord[] = JSON.parse(text)
  return attempts.map(({ number, startedAt, endedAt, failure, delayMs }) => ({
    number,
    startedAt,
    endedAt,
    failure: failure && { ...failure, code: failure.code, stack: failure.stack },
    delayMs,
  }))
}
