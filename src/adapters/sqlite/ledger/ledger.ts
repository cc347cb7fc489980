import { createIdSource, type IdSource } from '../../../core/event/uuid.ts'
import type { Claim, Ledger } from '../../../ports/ledger.ts'
import { StoreClosedError } from '../../../ports/store.ts'
import { type Connection, Session } from '../connection/connection.ts'
import type { SqliteSettings } from '../options.ts'

/** A ledger in an SQLite file. */
export class SqliteLedger implements Ledger {
  readonly #session: Session
  readonly #retentionMs: number
  readonly #newToken: IdSource

  constructor(connection: Connection, { random, ledgerRetentionMs }: SqliteSettings) {
    this.#session = new Session(connection, () => new StoreClosedError('ledger'))
    this.#retentionMs = ledgerRetentionMs
    this.#newToken = createIdSource(random)
  }

  async claim(handler: string, key: string, leaseMs: number): Promise<Claim> {
    const { connection } = this.#session
    const token = this.#newToken(connection.options.clock.now())
    const answer = await connection.write('ledger', 'claim', handler, key, token, leaseMs, this.#retentionMs)
    if (answer === null) return { kind: 'claimed', token }
    const [kind, at] = answer
    return kind === 'busy' ? { kind, until: at } : { kind, at }
  }

  async renew(handler: string, key: string, token: string, leaseMs: number): Promise<boolean> {
    return this.#session.connection.write('ledger', 'renew', handler, key, token, leaseMs)
  }

  async complete(handler: string, key: string, token: string): Promise<boolean> {
    return this.#session.connection.write('ledger', 'complete', handler, key, token)
  }

  async release(handler: string, key: string, token: string): Promise<boolean> {
    return this.#session.connection.write('ledger', 'release', handler, key, token)
  }

  async forget(handler: string, key: string): Promise<void> {
    await this.#session.connection.write('ledger', 'forget', handler, key)
  }

  close(): Promise<void> {
    return this.#session.close()
  }
}
