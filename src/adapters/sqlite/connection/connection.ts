import { resolve } from 'node:path'
import { steadyTime } from '../../../ports/clock.ts'
import type { SqliteSettings } from '../options.ts'
import { type Answer, DELIVERY_STRIDE, type DeliveryRow } from './messages.ts'
import type { ReadParts } from './reader.ts'
import { type FilePlace, Thread } from './thread.ts'
import type { WriteParts } from './writer.ts'

type ConnectionOptions = Pick<SqliteSettings, 'path' | 'clock' | 'busyTimeoutMs'>

/**
 * A database file as one process uses it: a thread that writes and a thread that reads. Everything that is opened on the
 * same file shares them, and the last to close ends them.
 */
export class Connection {
  readonly options: ConnectionOptions
  readonly place: FilePlace
  /** The clock for the waits of retries. */
  readonly steadyNow: () => number
  readonly #writer: Thread<WriteParts>
  readonly #reader: Thread<ReadParts>
  readonly #deliver = new Map<number, (row: DeliveryRow) => void>()
  readonly #onDue = new Set<(dueAt: number | undefined) => void>()
  #users = 0
  #opened: Promise<unknown> | undefined

  constructor(options: ConnectionOptions, place: FilePlace) {
    const { path, clock, busyTimeoutMs } = options
    this.options = options
    this.place = place
    this.steadyNow = steadyTime(clock)
    const write = { path, role: 'write', busyTimeoutMs } as const
    this.#writer = new Thread(write, place, clock, this.steadyNow, answer => this.#listen(answer))
    this.#reader = new Thread({ path, role: 'read', busyTimeoutMs }, place, clock)
  }

  /** Opens the file. Resolves if the file exists and has this version; otherwise rejects with the problem. */
  open(): Promise<unknown> {
    this.#opened ??= this.write('broker', 'poll').catch((error: unknown) => {
      this.#opened = undefined
      throw error
    })
    return this.#opened
  }

  /** Asks a part of the writing thread, such as `write('ledger', 'renew', …)`. */
  readonly write: Thread<WriteParts>['call'] = (...call) => this.#writer.call(...call)

  /** Calls a part of the reading thread. The writing thread creates the tables that it reads. */
  readonly read: Thread<ReadParts>['call'] = async (...call) => {
    await this.open()
    return this.#reader.call(...call)
  }

  onDelivery(subscription: number, deliver: (row: DeliveryRow) => void): void {
    this.#deliver.set(subscription, deliver)
  }

  offDelivery(subscription: number): void {
    this.#deliver.delete(subscription)
  }

  /** Receives the time of the next due retry with every answer. */
  onDue(tell: (dueAt: number | undefined) => void): () => void {
    this.#onDue.add(tell)
    return () => this.#onDue.delete(tell)
  }

  use(): this {
    this.#users++
    return this
  }

  async leave(): Promise<void> {
    if (--this.#users > 0) return
    connections.delete(this)
    await this.#reader.end()
    await this.#writer.end()
  }

  #listen({ deliveries, dueAt }: Answer): void {
    for (let at = 0; at < (deliveries?.length ?? 0); at += DELIVERY_STRIDE) {
      // The worker sends rows end to end in one list, to save the copying of arrays in arrays.
      const row = deliveries!.slice(at, at + DELIVERY_STRIDE) as unknown as DeliveryRow
      this.#deliver.get(row[0])?.(row)
    }
    for (const tell of this.#onDue) tell(dueAt)
  }
}

/** The use of a connection by one part of a store, until that part is closed. */
export class Session {
  readonly #connection: Connection
  readonly #whenClosed: () => Error
  #closing: Promise<void> | undefined

  constructor(connection: Connection, whenClosed: () => Error) {
    this.#connection = connection.use()
    this.#whenClosed = whenClosed
  }

  /** Throws if the part is closed. Work that has begun continues with its connection. */
  get connection(): Connection {
    this.requireOpen()
    return this.#connection
  }

  requireOpen(): void {
    if (this.#closing !== undefined) throw this.#whenClosed()
  }

  close(): Promise<void> {
    this.#closing ??= this.#connection.leave()
    return this.#closing
  }
}

/**
 * The files this process has open. Kept for the whole process, because that is what one worker per file means: two of
 * them would only wait for each other's locks.
 */
const connections = new Set<Connection>()

export function connect({ path, clock, busyTimeoutMs }: ConnectionOptions): Connection {
  const options = { path: resolve(path), clock, busyTimeoutMs }
  const others = [...connections].filter(({ options: other }) => other.path === options.path)
  const same = others.find(
    ({ options: other }) => other.clock === clock && other.busyTimeoutMs === busyTimeoutMs,
  )
  if (same !== undefined) return same
  const connection = new Connection(options, others[0]?.place ?? {})
  connections.add(connection)
  return connection
}
