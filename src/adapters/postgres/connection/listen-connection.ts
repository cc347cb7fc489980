import { SerialQueue } from '../../../adapter-kit/serial-queue.ts'
import type { PostgresSettings } from '../options.ts'
import type { PgClient, PgNotification, PgQueryable, PgResult } from './client.ts'
import type { Notifications } from './notifier.ts'
import { connect, releaseClient } from './query.ts'

type NotifyChannel = Notifications['channel']

/**
 * The connection that a process keeps for LISTEN and for the lease of its consumers: a process whose handlers use all other
 * connections of the pool can still renew the lease. Consumers and commands share it, and the last to stop returns it.
 * `start` replaces a connection that broke; until then queries run on any connection of the pool.
 */
export class ListenConnection implements PgQueryable {
  readonly #settings: PostgresSettings
  readonly #listeners = new Map<NotifyChannel, (payload: string) => void>()
  #opening: Promise<PgClient> | undefined
  #client: PgClient | undefined
  /** The queries of the client. node-postgres deprecates a query on a client that has not answered the one before. */
  #queries = new SerialQueue()
  #isBusy = false

  constructor(settings: PostgresSettings) {
    this.#settings = settings
  }

  /**
   * Keeps a connection, and calls `onNotify` with the payloads of a NOTIFY channel until `stop`. Sends LISTEN every time it
   * is called, because a pooler may have given the session away.
   */
  async start(channel: NotifyChannel, onNotify: (payload: string) => void): Promise<void> {
    this.#listeners.set(channel, onNotify)
    this.#opening ??= this.#open()
    const client = await this.#opening
    if (!this.#settings.listen || !this.#listeners.has(channel)) return
    try {
      await this.#run(client, `listen ${channel}`)
    } catch (error) {
      if (this.#client === client) this.#drop()
      throw error
    }
  }

  async stop(channel: NotifyChannel): Promise<void> {
    this.#listeners.delete(channel)
    const client = await this.#opening?.catch(() => undefined)
    if (client === undefined || this.#client !== client) return
    await this.#queries.settled()
    if (this.#client !== client || this.#listeners.has(channel)) return
    const unlisten = `unlisten ${channel}`
    if (this.#listeners.size > 0) {
      await this.#run(client, unlisten).catch(() => {})
      return
    }
    this.#forget(client)
    const isWell = await client.query(unlisten).then(
      () => true,
      () => false,
    )
    releaseClient(client, !isWell)
  }

  /** A connection that has not answered the previous query counts as broken. */
  async query(text: string, values?: unknown[]): Promise<PgResult> {
    if (this.#isBusy) this.#drop()
    const client = this.#client
    if (client === undefined) return this.#settings.pool.query(text, values)
    this.#isBusy = true
    try {
      return await this.#run(client, text, values)
    } finally {
      if (this.#client === client) this.#isBusy = false
    }
  }

  #run(client: PgClient, text: string, values?: unknown[]): Promise<PgResult> {
    return this.#queries.run(() => {
      if (this.#client !== client) throw new Error('the connection was closed')
      return client.query(text, values)
    })
  }

  async #open(): Promise<PgClient> {
    try {
      const client = await connect(this.#settings.pool, 'keeping a connection')
      client.on('notification', this.#hear)
      client.on('error', this.#drop)
      this.#client = client
      this.#queries = new SerialQueue()
      this.#isBusy = false
      return client
    } catch (error) {
      this.#opening = undefined
      throw error
    }
  }

  readonly #hear = ({ channel, payload }: PgNotification): void => {
    if (payload !== undefined) this.#listeners.get(channel as NotifyChannel)?.(payload)
  }

  readonly #drop = (): void => {
    const client = this.#client
    if (client === undefined) return
    this.#forget(client)
    releaseClient(client, true)
  }

  #forget(client: PgClient): void {
    this.#opening = undefined
    this.#client = undefined
    this.#isBusy = false
    client.removeListener('notification', this.#hear)
    client.removeListener('error', this.#drop)
  }
}
