import type { StreamMessage } from '../wire/message.ts'
import { entryKey, type Source, sourceOf } from './entry.ts'

/** Names one message of a stream for good: a stream that counts from 1 again uses its sequences again. */
export type MessageId = Pick<StreamMessage, 'sequence' | 'storedAt'>

/** A message that is settled here, and what the server has to be told about it. */
interface Acknowledgement extends MessageId {
  readonly ackSubject: string
  readonly word: string
}

/**
 * The latest acknowledgements of a subscription. The server does not confirm them, so that they are sent again on the next
 * connection, and when it delivers their message again.
 */
export class Acknowledgements {
  readonly #limit: number
  readonly #byKey = new Map<string, Acknowledgement>()

  /** `limit` is how many are remembered. More are only remembered before they are sent. */
  constructor(limit: number) {
    this.#limit = limit
  }

  add(source: Source, acknowledgement: Acknowledgement, isSent: boolean): void {
    this.#byKey.set(entryKey(source, acknowledgement.sequence), acknowledgement)
    for (const key of this.#byKey.keys()) {
      if (!isSent || this.#byKey.size <= this.#limit) break
      this.#byKey.delete(key)
    }
  }

  /** That of the message with this sequence, if there is one. */
  get(source: Source, sequence: number): Acknowledgement | undefined {
    return this.#byKey.get(entryKey(source, sequence))
  }

  of(source: Source): readonly Acknowledgement[] {
    return [...this.#byKey].filter(([key]) => sourceOf(key) === source).map(([, each]) => each)
  }

  /** False if there is none of this message. */
  delete(source: Source, { sequence, storedAt }: MessageId): boolean {
    const key = entryKey(source, sequence)
    return this.#byKey.get(key)?.storedAt === storedAt && this.#byKey.delete(key)
  }
}
