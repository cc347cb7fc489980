import type { Cancel } from '../../../../ports/clock.ts'
import {
  hasRestartedSince,
  isYoungerThan,
  type StreamEnd,
  type StreamPosition,
} from '../streams/stream-position.ts'
import type { StreamMessage } from '../wire/message.ts'

/** What is known of a stream that messages come from. */
export class SourceState {
  /** When it was made, as far as this process knows. */
  created: string | undefined
  /**
   * It is the stream that the messages here came from. After a connection was lost, that is not known: nothing is settled and
   * nothing is asked for until the server has said it.
   */
  isVerified = true
  /** How often that could not be found out. */
  failures = 0
  cancelRetry: Cancel = () => {}
  /** The end of the stream, as far as this process knows; undefined before the first answer. */
  #end: StreamEnd | undefined
  /** The same when the server was asked: what came since can be missing in its answer. */
  #endWhenAsked: StreamEnd | undefined
  #postponed: StreamMessage[] = []
  #questions = 0

  constructor(created: string | undefined) {
    this.created = created
  }

  /** The server is asked about the stream. Returns the function that says whether it was asked again since. */
  ask(): () => boolean {
    this.cancelRetry()
    const question = ++this.#questions
    this.#endWhenAsked = this.#end
    return () => question !== this.#questions
  }

  /** The server has answered. True if the stream counts from 1 again since it was known last, or has lost its end. */
  answered(position: StreamPosition): boolean {
    const hasRestarted = this.#endWhenAsked !== undefined && hasRestartedSince(this.#endWhenAsked, position)
    if (hasRestarted) this.#end = undefined
    const { firstStoredAt = 0, lastSequence, lastStoredAt } = position
    // If the clock of the server was set back, its last message is not the youngest.
    const youngest = lastStoredAt === undefined ? undefined : Math.max(firstStoredAt, lastStoredAt)
    this.#end = laterOf(this.#end, { lastSequence, lastStoredAt: youngest })
    return hasRestarted
  }

  /** Whether the message shows that the stream is another one: it has the sequence of an earlier message and is younger. */
  isContradictedBy(message: StreamMessage): boolean {
    return this.#end !== undefined && isYoungerThan(this.#end, message)
  }

  /** The message is one of the stream as it was verified, whatever its time. */
  accept({ sequence, storedAt }: StreamMessage): void {
    const { lastStoredAt } = this.#end ?? {}
    if (this.#end !== undefined)
      this.#end = laterOf(this.#end, {
        lastSequence: sequence,
        lastStoredAt: lastStoredAt === undefined ? undefined : storedAt,
      })
  }

  /** The message came while the stream was not verified. */
  postpone(message: StreamMessage): void {
    this.#postponed.push(message)
  }

  takePostponed(): readonly StreamMessage[] {
    const postponed = this.#postponed
    this.#postponed = []
    return postponed
  }
}

function laterOf(one: StreamEnd | undefined, other: StreamEnd): StreamEnd {
  const lastStoredAt =
    other.lastStoredAt === undefined ? undefined : Math.max(one?.lastStoredAt ?? 0, other.lastStoredAt)
  return { lastSequence: Math.max(one?.lastSequence ?? 0, other.lastSequence), lastStoredAt }
}
