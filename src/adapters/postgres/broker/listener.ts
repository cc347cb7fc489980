import { connect, letGo } from '../ask.ts'
import type { PgClient, PgNotification, PgPool } from '../client.ts'
import { NOTIFY_CHANNEL } from '../schema/functions.ts'

/** Hears what others are told. A connection that breaks is replaced the next time somebody sees to it. */
export class Listener {
  readonly #pool: PgPool
  readonly #tell: (channel: string) => void
  #client: Promise<PgClient> | undefined

  constructor(pool: PgPool, tell: (channel: string) => void) {
    this.#pool = pool
    this.#tell = tell
  }

  /** Listens from when it resolves on, if it does not already. */
  async start(): Promise<void> {
    this.#client ??= this.#listen()
    await this.#client
  }

  async stop(): Promise<void> {
    const client = await this.#client?.catch(() => undefined)
    this.#client = undefined
    if (client === undefined) return
    this.#leave(client)
    const isWell = await client.query(`unlisten ${NOTIFY_CHANNEL}`).then(
      () => true,
      () => false,
    )
    letGo(client, !isWell)
  }

  async #listen(): Promise<PgClient> {
    let client: PgClient | undefined
    try {
      client = await connect(this.#pool, 'listening for events')
      client.on('notification', this.#hear)
      client.on('error', this.#lose)
      await client.query(`listen ${NOTIFY_CHANNEL}`)
      return client
    } catch (error) {
      this.#client = undefined
      if (client !== undefined) this.#drop(client)
      throw error
    }
  }

  readonly #hear = ({ payload }: PgNotification): void => {
    if (payload !== undefined) this.#tell(payload)
  }

  readonly #lose = (): void => {
    const lost = this.#client
    this.#client = undefined
    lost?.then(
      client => this.#drop(client),
      () => {},
    )
  }

  #drop(client: PgClient): void {
    this.#leave(client)
    letGo(client, true)
  }

  #leave(client: PgClient): void {
    client.removeListener('notification', this.#hear)
    client.removeListener('error', this.#lose)
  }
}
