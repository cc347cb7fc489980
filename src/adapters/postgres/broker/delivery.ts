import { attemptsAtRest, readAttempts } from '../../../adapter-kit/delivery/attempt-history.ts'
import { DEFAULT_MAX_ATTEMPTS_KEPT, keepFirstAndLatest } from '../../../core/dead-letter/caps.ts'
import { type DeliveredReplay, deliveredReplay } from '../../../core/dead-letter/change.ts'
import type { AttemptRecord, Origin } from '../../../core/dead-letter/letter.ts'
import type { LazaretEvent } from '../../../core/event/event.ts'
import type { Delivery, Undecodable } from '../../../ports/broker.ts'
import type { EventCodec, TextCodec } from '../../../ports/codec.ts'
import type { ClaimedRow } from './claiming.ts'
import { readEvent } from './event-row.ts'

const NO_ATTEMPTS: readonly AttemptRecord[] = Object.freeze([])

/** One handing-over. What consumers see of it never changes; what is recorded meanwhile is told by the next one. */
export class OutboxDelivery implements Delivery {
  readonly channel: string
  readonly content: LazaretEvent | Undecodable
  readonly started: number
  readonly ended: number
  readonly history: readonly AttemptRecord[]
  readonly origin: Origin
  readonly seq: number
  /** Who claimed it. */
  readonly owner: number
  /** By which of its claims: the same row may be claimed again while this handing-over still thinks that it has it. */
  readonly claim: number
  /** The letter that the broker, and nobody else, keeps of its event. */
  readonly keptLetterId: string | undefined
  /** What its event claims to be. */
  readonly replay: DeliveredReplay | undefined
  #begun = 0
  #ended = 0
  #historyNow: readonly AttemptRecord[]
  readonly #texts: TextCodec | undefined

  constructor(row: ClaimedRow, owner: number, broker: string, codec: EventCodec) {
    this.channel = row.channel
    this.content = readEvent(row, codec)
    this.started = row.attempts
    this.ended = row.attemptsEnded
    this.history = row.attemptLog === null ? NO_ATTEMPTS : readAttempts(row.attemptLog, codec.texts)
    this.origin = { broker, queue: row.channel, offset: row.seq }
    this.seq = row.seq
    this.owner = owner
    this.claim = row.claim
    this.keptLetterId = row.letterKept ? (row.letterId ?? undefined) : undefined
    this.replay = deliveredReplay(this.content)
    this.#historyNow = this.history
    this.#texts = codec.texts
  }

  begin(ended: readonly AttemptRecord[]): void {
    this.end(ended)
    this.#begun++
  }

  end(ended: readonly AttemptRecord[]): void {
    if (ended.length === 0) return
    this.#ended += ended.length
    this.#historyNow = keepFirstAndLatest([...this.#historyNow, ...ended], DEFAULT_MAX_ATTEMPTS_KEPT)
  }

  /** Attempts begun in this cycle, those of this delivery included. */
  get attempts(): number {
    return this.started + this.#begun
  }

  get attemptsEnded(): number {
    return this.ended + this.#ended
  }

  /** The same with the start that has not ended taken back. */
  get attemptsTakenBack(): number {
    return this.attempts - (this.#begun > this.#ended ? 1 : 0)
  }

  /** Attempts of earlier deliveries that never ended. */
  get crashes(): number {
    return this.started - this.ended
  }

  /** Whether no text of an error is written in the clear. */
  get isSealed(): boolean {
    return this.#texts !== undefined
  }

  /** Of all attempts that ended; null when none of them ended here. */
  get attemptLog(): string | null {
    return this.#ended === 0 ? null : JSON.stringify(attemptsAtRest(this.#historyNow, this.#texts))
  }
}
