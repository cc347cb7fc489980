import { NOTIFY_CHANNEL } from '../schema/functions.ts'
import { connect, letGo } from './ask.ts'
import type { PgClient, PgNotification, PgPool, PgQueryable, PgResult } from './client.ts'

interface LineSettings {
  readonly pool: PgPool
  /** Whether what others are told is heard on it. */
  readonly listen: boolean
  /** Called with the channel of what others were told. */
  tell(channel: string): void
}

/**
 * The connection that a consuming process keeps for itself. The lease is renewed on it, so that a process whose handlers
 * have all other connections of the pool is not taken for dead. One that breaks is replaced the next time somebody sees
 * to it; until then any connection will do.
 */
export class Line implements PgQueryable {
  readonly #settings: LineSettings
  #opening: Promise<PgClient> | undefined
  #client: PgClient | undefined
  #isAsked = false

  constructor(settings: LineSettings) {
    this.#settings = settings
  }

  /** Kept from when it resolves on. That it listens is said every time: a pooler may have given the session away. */
  async start(): Promise<void> {
    this.#opening ??= this.#open()
    const client = await this.#opening
    if (!this.#settings.listen) return
    try {
      await client.query(`listen ${NOTIFY_CHANNEL}`)
    } catch (error) {
      if (this.#client === client) this.#lose()
      throw error
    }
  }

  async stop(): Promise<void> {
    const client = await this.#opening?.catch(() => undefined)
    if (client === undefined || this.#client !== client) return
    this.#forget(client)
    const isWell = await client.query(`unlisten ${NOTIFY_CHANNEL}`).then(
      () => true,
      () => false,
    )
    letGo(client, !isWell)
  }

  /** One that has not answered when it is asked again never will: it is given up. */
  async query(text: string, values?: unknown[]): Promise<PgResult> {
    if (this.#isAsked) this.#lose()
    const client = this.#client
    if (client === undefined) return this.#settings.pool.query(text, values)
    this.#isAsked = true
    try {
      return await client.query(text, values)
    } finally {
      if (this.#client === client) this.#isAsked = false
    }
  }

  async #open(): Promise<PgClient> {
    try {
      const client = await connect(this.#settings.pool, 'keeping a connection')
      client.on('notification', this.#hear)
      client.on('error', this.#lose)
      this.#client = client
      this.#isAsked = false
      return client
    } catch (error) {
      this.#opening = undefined
      throw error
    }
  }

  readonly #hear = ({ payload }: PgNotification): void => {
    if (payload !== undefined) this.#settings.tell(payload)
  }

  readonly #lose = (): void => {
    const client = this.#client
    if (client === undefined) return
    this.#forget(client)
    letGo(client, true)
  }

  #forget(client: PgClient): void {
    this.#opening = undefined
    this.#client = undefined
    this.#isAsked = false
    client.removeListener('notification', this.#hear)
    client.removeListener('error', this.#lose)
  }
}
