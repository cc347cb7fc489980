import { resolve } from 'node:path'
import { type Clock, steadyTime } from '../../../ports/clock.ts'
import { type Answer, DELIVERY_STRIDE, type ReadCalls, type WriteCalls } from './calls.ts'
import { Thread } from './thread.ts'

interface ConnectionOptions {
  readonly path: string
  readonly clock: Clock
  readonly busyTimeoutMs: number
}

/** subscription, owner, place, body, started, ended, history, letter: as it comes from the thread. */
export type DeliveryRow = readonly [
  number,
  number,
  number,
  string | Uint8Array,
  number,
  number,
  string | null,
  string | null,
]

/**
 * A database file as one process uses it: a thread that writes and a thread that reads. Everything that is opened on the
 * same file shares them, and the last to close ends them.
 */
export class Connection {
  readonly options: ConnectionOptions
  /** What retries wait by. */
  readonly steadyNow: () => number
  readonly writer: Thread<WriteCalls>
  readonly #reader: Thread<ReadCalls>
  readonly #deliver = new Map<number, (row: DeliveryRow) => void>()
  readonly #onDue = new Set<(dueAt: number | undefined) => void>()
  #users = 0
  #opened: Promise<unknown> | undefined

  constructor(options: ConnectionOptions) {
    const { path, clock, busyTimeoutMs } = options
    this.options = options
    this.steadyNow = steadyTime(clock)
    const write = { path, role: 'write', busyTimeoutMs } as const
    this.writer = new Thread(write, clock, this.steadyNow, answer => this.#listen(answer))
    this.#reader = new Thread({ path, role: 'read', busyTimeoutMs }, clock)
  }

  /** The file is there and of this version; rejects with what is wrong with it. */
  open(): Promise<unknown> {
    this.#opened ??= this.writer.call('poll').catch((error: unknown) => {
      this.#opened = undefined
      throw error
    })
    return this.#opened
  }

  async read<K extends keyof ReadCalls>(
    name: K,
    ...args: Parameters<ReadCalls[K]>
  ): Promise<ReturnType<ReadCalls[K]>> {
    // What is read is made by the thread that writes.
    await this.open()
    return this.#reader.call(name, ...args)
  }

  onDelivery(subscription: number, deliver: (row: DeliveryRow) => void): void {
    this.#deliver.set(subscription, deliver)
  }

  offDelivery(subscription: number): void {
    this.#deliver.delete(subscription)
  }

  /** Told with every answer when the next retry is due. */
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
    await this.writer.end()
  }

  #listen({ deliveries, dueAt }: Answer): void {
    for (let at = 0; at < (deliveries?.length ?? 0); at += DELIVERY_STRIDE) {
      const row = deliveries!.slice(at, at + DELIVERY_STRIDE) as unknown as DeliveryRow
      this.#deliver.get(row[0])?.(row)
    }
    for (const tell of this.#onDue) tell(dueAt)
  }
}

/**
 * The files this process has open. Kept for the whole process, because that is what one worker per file means: two of
 * them would only wait for each other's locks.
 */
const connections = new Set<Connection>()

export function connect({ path, clock, busyTimeoutMs }: ConnectionOptions): Connection {
  const options = { path: resolve(path), clock, busyTimeoutMs }
  for (const connection of connections) {
    const { options: other } = connection
    if (other.path === options.path && other.clock === clock && other.busyTimeoutMs === busyTimeoutMs)
      return connection.use()
  }
  const connection = new Connection(options)
  connections.add(connection)
  return connection.use()
}
