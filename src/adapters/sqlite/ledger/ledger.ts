import { createIdSource, type IdSource } from '../../../core/event/uuid.ts'
import type { Random } from '../../../core/random.ts'
import type { Claim, Ledger } from '../../../ports/ledger.ts'
import { StoreClosedError } from '../../../ports/store.ts'
import type { Connection } from '../connection/connection.ts'

interface LedgerSettings {
  readonly random: Random
  readonly retentionMs: number
}

export class SqliteLedger implements Ledger {
  readonly #connection: Connection
  readonly #retentionMs: number
  readonly #newToken: IdSource
  #closing: Promise<void> | undefined

  constructor(connection: Connection, { random, retentionMs }: LedgerSettings) {
    this.#connection = connection
    this.#retentionMs = retentionMs
    this.#newToken = createIdSource(random)
  }

  async claim(handler: string, key: string, leaseMs: number): Promise<Claim> {
    const { clock } = this.#connection.options
    const token = this.#newToken(clock.now())
    const answer = await this.#writer.call('claim', handler, key, token, leaseMs, this.#retentionMs)
    if (answer === null) return { kind: 'claimed', token }
    const [kind, at] = answer
    return kind === 'busy' ? { kind, until: at } : { kind, at }
  }

  async renew(handler: string, key: string, token: string, leaseMs: number): Promise<boolean> {
    return this.#writer.call('renew', handler, key, token, leaseMs)
  }

  async complete(handler: string, key: string, token: string): Promise<boolean> {
    return this.#writer.call('complete', handler, key, token)
  }

  async release(handler: string, key: string, token: string): Promise<boolean> {
    return this.#writer.call('releaseClaim', handler, key, token)
  }

  async forget(handler: string, key: string): Promise<void> {
    await this.#writer.call('forget', handler, key)
  }

  close(): Promise<void> {
    this.#closing ??= this.#connection.leave()
    return this.#closing
  }

  get #writer(): Connection['writer'] {
    if (this.#closing !== undefined) throw new StoreClosedError('ledger')
    return this.#connection.writer
  }
}
