import { readEntries } from '../../../adapter-kit/journal-entries.ts'
import type { EventCodec } from '../../../ports/codec.ts'
import {
  type Journal,
  type JournalContents,
  type JournalEntry,
  JournalFullError,
} from '../../../ports/journal.ts'
import { StoreClosedError } from '../../../ports/store.ts'
import type { Connection } from '../connection/connection.ts'

interface JournalSettings {
  readonly codec: EventCodec
  readonly capacity: number
}

export class SqliteJournal implements Journal {
  readonly #connection: Connection
  readonly #codec: EventCodec
  readonly #capacity: number
  #closing: Promise<void> | undefined

  constructor(connection: Connection, { codec, capacity }: JournalSettings) {
    this.#connection = connection
    this.#codec = codec
    this.#capacity = capacity
  }

  async append({ event, sinks, job }: JournalEntry): Promise<void> {
    const { writer } = this.#open()
    const list = sinks === undefined ? null : JSON.stringify(sinks)
    const row = [event.id, this.#codec.encode(event), list, job ?? null] as const
    if (!(await writer.call('appendJournal', row, this.#capacity)))
      throw new JournalFullError(this.#path, this.#capacity)
  }

  async remove(eventId: string): Promise<void> {
    await this.#open().writer.call('removeJournal', eventId)
  }

  async pending(): Promise<JournalContents> {
    const rows = await this.#open().read('listJournal')
    const stored = rows.map(([id, event, sinks, job]) => ({
      id,
      event,
      sinks: sinks === null ? undefined : (JSON.parse(sinks) as string[]),
      job: job ?? undefined,
    }))
    return readEntries(this.#path, stored, this.#codec)
  }

  close(): Promise<void> {
    this.#closing ??= this.#connection.leave()
    return this.#closing
  }

  get #path(): string {
    return this.#connection.options.path
  }

  #open(): Connection {
    if (this.#closing !== undefined) throw new StoreClosedError(`journal in ${this.#path}`)
    return this.#connection
  }
}
