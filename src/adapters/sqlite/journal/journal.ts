import { readEntries } from '../../../adapter-kit/journal-entries.ts'
import type { EventCodec } from '../../../ports/codec.ts'
import {
  type Journal,
  type JournalContents,
  type JournalEntry,
  JournalFullError,
} from '../../../ports/journal.ts'
import { StoreClosedError } from '../../../ports/store.ts'
import { type Connection, Session } from '../connection/connection.ts'
import type { SqliteSettings } from '../options.ts'

/** A journal in an SQLite file. */
export class SqliteJournal implements Journal {
  readonly #session: Session
  readonly #path: string
  readonly #codec: EventCodec
  readonly #capacity: number

  constructor(connection: Connection, { codec, maxJournalEvents }: SqliteSettings) {
    this.#path = connection.options.path
    this.#session = new Session(connection, () => new StoreClosedError(`journal in ${this.#path}`))
    this.#codec = codec.events
    this.#capacity = maxJournalEvents
  }

  async append({ event, sinks, job }: JournalEntry): Promise<void> {
    const { connection } = this.#session
    const row = {
      id: event.id,
      body: this.#codec.encode(event),
      sinks: sinks === undefined ? null : JSON.stringify(sinks),
      job: job ?? null,
    }
    if (!(await connection.write('journal', 'append', row, this.#capacity)))
      throw new JournalFullError(this.#path, this.#capacity)
  }

  async remove(eventId: string): Promise<void> {
    await this.#session.connection.write('journal', 'remove', eventId)
  }

  async pending(): Promise<JournalContents> {
    const rows = await this.#session.connection.read('journal', 'list')
    const stored = rows.map(({ id, body, sinks, job }) => ({
      id,
      event: body,
      sinks: sinks === null ? undefined : sinksIn(sinks),
      job: job ?? undefined,
    }))
    return readEntries(this.#path, stored, this.#codec)
  }

  close(): Promise<void> {
    return this.#session.close()
  }
}

/** Without a readable list the event goes to all sinks: a sink that has it already gets it twice, and none misses it. */
function sinksIn(text: string): readonly string[] | undefined {
  try {
    const names: unknown = JSON.parse(text)
    return Array.isArray(names) && names.every(name => typeof name === 'string') ? names : undefined
  } catch {
    return undefined
  }
}
