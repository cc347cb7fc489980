import { SerialQueue } from '../../../../adapter-kit/serial-queue.ts'
import { ERROR, isError, type StoredMessage } from '../../connection/jetstream.ts'
import type { OutgoingMessage } from '../../connection/publisher.ts'
import { LeaseExpiredError } from '../../errors.ts'
import type { SubscriptionContext } from '../consume/context.ts'

/** A record in the state stream that every new owner writes again. */
interface Fence {
  readonly subject: string
  /** Where the record of this owner is. */
  sequence: number
  /** A stream with replicas checks one message at a time against a record, and refuses others meanwhile. */
  readonly writes: SerialQueue
}

/** So many writes can be on their way at once. */
const FENCES = 16

/**
 * Keeps the writes of earlier owners out of the state stream, also those that a broken network has held back. Each write names the
 * record of its owner, and the server refuses it when a later owner has replaced that record. Servers before 2.11 cannot check a
 * record under another subject: there only the lease keeps such writes out.
 */
export class WriteFences {
  readonly #context: SubscriptionContext
  readonly #isOurs: () => boolean
  readonly #fences: readonly Fence[]
  #next = 0
  #isRaised = false
  #canServerCheck = true

  constructor(context: SubscriptionContext, isOurs: () => boolean) {
    this.#context = context
    this.#isOurs = isOurs
    this.#fences = Array.from({ length: FENCES }, (_, at) => ({
      subject: `${context.names.stateSubject}.fence.${at}`,
      sequence: 0,
      writes: new SerialQueue(),
    }))
  }

  /** After this resolves the server refuses everything that earlier owners have sent. */
  async raise(): Promise<void> {
    if (this.#isRaised) return
    await Promise.all(this.#fences.map(fence => this.#replace(fence)))
    this.#isRaised = true
  }

  /** Resolves with the sequence of each message. Rejects if another has become the owner. */
  async publish(messages: readonly OutgoingMessage[]): Promise<readonly number[]> {
    const first = this.#next
    this.#next = (first + messages.length) % FENCES
    const sequences = new Array<number>(messages.length)
    await Promise.all(
      messages.map(async (message, index) => {
        const fence = this.#fences[(first + index) % FENCES]!
        sequences[index] = await fence.writes.run(() => this.#write(message, fence))
      }),
    )
    return sequences
  }

  /** Each record names the one before it, so that an earlier owner whose record comes late does not replace ours. */
  async #replace(fence: Fence): Promise<void> {
    const { id, publisher, streams, names } = this.#context
    const before = await this.#record(fence)
    const message = {
      stream: streams.name(names.channel, 'state'),
      subject: fence.subject,
      data: Buffer.from(id),
      headers: [],
      lastSequence: before?.sequence ?? 0,
    }
    const [sequence] = await publisher.publish([message], this.#isOurs)
    fence.sequence = sequence!
  }

  async #write(message: OutgoingMessage, fence: Fence): Promise<number> {
    const { publisher, names } = this.#context
    if (this.#canServerCheck)
      try {
        const [sequence] = await publisher.publish([{ ...message, fence }], this.#isOurs)
        return sequence!
      } catch (error) {
        if (!isError(error, ERROR.wrongLastSequence)) throw error
        const record = await this.#record(fence)
        if (record?.sequence !== fence.sequence) throw new LeaseExpiredError(names.streams.state)
        // The server has compared our record with the subject of the message.
        this.#canServerCheck = false
      }
    const [sequence] = await publisher.publish([message], this.#isOurs)
    return sequence!
  }

  #record({ subject }: Fence): Promise<StoredMessage | undefined> {
    const { jetstream, names } = this.#context
    return jetstream.message(names.streams.state, { last_by_subj: subject })
  }
}
