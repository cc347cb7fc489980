import type { StreamMessage } from '../wire/message.ts'

/** Names one message of a stream for good: a stream that counts from 1 again uses its sequences again. */
export type MessageId = Pick<StreamMessage, 'sequence' | 'storedAt'>

/** A message that is settled here, and what the server has to be told about it. */
interface Acknowledgement extends MessageId {
  readonly ackSubject: string
  readonly word: string
}

/**
 * The latest acknowledgements of a stream. The server does not confirm them, so that they are sent again on the next
 * connection, and when it delivers their message again.
 *
 * They are kept in two maps. When the later one is full, it replaces the earlier one. To delete the oldest of a single map for
 * each new one would cost more than everything else here: a map looks for its oldest entry past all that were deleted.
 */
export class Acknowledgements {
  readonly #limit: number
  #earlier = new Map<number, Acknowledgement>()
  #later = new Map<number, Acknowledgement>()

  /** `limit` is how many are remembered at least; twice as many are at most. More are only remembered before they are sent. */
  constructor(limit: number) {
    this.#limit = limit
  }

  add(acknowledgement: Acknowledgement, isSent: boolean): void {
    this.#later.set(acknowledgement.sequence, acknowledgement)
    if (!isSent || this.#later.size < this.#limit) return
    this.#earlier = this.#later
    this.#later = new Map()
  }

  /** That of the message with this sequence, if there is one. */
  get(sequence: number): Acknowledgement | undefined {
    return this.#later.get(sequence) ?? this.#earlier.get(sequence)
  }

  /** The oldest first. */
  get all(): readonly Acknowledgement[] {
    const earlier = [...this.#earlier.values()].filter(({ sequence }) => !this.#later.has(sequence))
    return [...earlier, ...this.#later.values()]
  }

  /** False if there is none of this message. */
  delete({ sequence, storedAt }: MessageId): boolean {
    if (this.get(sequence)?.storedAt !== storedAt) return false
    this.#earlier.delete(sequence)
    this.#later.delete(sequence)
    return true
  }
}
