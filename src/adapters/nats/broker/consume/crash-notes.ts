import type { AttemptLog } from '../../../../adapter-kit/delivery/tracked-delivery.ts'
import { ERROR, isError } from '../../connection/jetstream.ts'
import { NO_DATA } from '../../connection/publisher.ts'
import { afterCrash, headersWithLog, type LogMark, readLog } from '../wire/message-log.ts'
import type { SubscriptionContext } from './context.ts'
import type { Entry } from './entry.ts'

/**
 * Notes in the state stream which say that an attempt of a suspect has begun. A message cannot be changed where it is, so
 * that the next consumer finds there that this one crashed.
 */
export class CrashNotes {
  readonly #context: SubscriptionContext

  constructor(context: SubscriptionContext) {
    this.#context = context
  }

  /**
   * Reads the note of an entry, if there is one. A state stream that was deleted is made again. Resolves with the epoch milliseconds
   * before which the entry is not delivered; 0 without a wait.
   */
  async read(entry: Entry): Promise<number> {
    const { jetstream, names, settings, streams } = this.#context
    const asked = jetstream.message(names.streams.state, { last_by_subj: this.#subject(entry) })
    const note = await asked.catch(async error => {
      if (!isError(error, ERROR.streamNotFound)) throw error
      await streams.restore(streams.name(names.channel, 'state'))
      return undefined
    })
    if (note === undefined) return 0
    const position = { stream: names.streams.state, sequence: note.sequence, storedAt: note.storedAt }
    const read = readLog(settings.name, note, position, settings.clock.now())
    entry.noteAt = note.sequence
    // A stream that was made again has another message with this sequence.
    if (read.origin['timestamp'] !== entry.log.origin['timestamp']) return 0
    entry.known = afterCrash(read)
    return read.notBefore
  }

  /** An attempt of a suspect begins. */
  begin(entry: Entry, log: AttemptLog): Promise<void> {
    return this.write(entry, log, entry.known === undefined ? { isFirstSuspicion: true } : undefined)
  }

  async write(entry: Entry, log: AttemptLog, mark: LogMark | undefined): Promise<void> {
    const { publisher, streams, names } = this.#context
    const [sequence] = await publisher.publish([
      {
        stream: streams.name(names.channel, 'state'),
        subject: this.#subject(entry),
        data: NO_DATA,
        headers: headersWithLog([], entry.log.origin, log, mark),
      },
    ])
    entry.noteAt = sequence
  }

  /** The entry is settled. A note that stays behind does no harm: `read` compares the time of its message. */
  remove(entry: Entry): void {
    const { noteAt } = entry
    entry.noteAt = undefined
    const { jetstream, names } = this.#context
    if (noteAt !== undefined) jetstream.deleteMessage(names.streams.state, noteAt).catch(() => {})
  }

  #subject({ source, message }: Entry): string {
    return `${this.#context.names.stateSubject}.note.${source}.${message.sequence}`
  }
}
