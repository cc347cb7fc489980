import type { Pool } from 'pg'
import { pause } from '../campaign/wait.ts'
import { ORDERED } from './plan.ts'

const ROUND_MS = 300

/**
 * A person with psql: replays events whose cause is fixed, and discards permanently failing events that block their
 * key.
 */
export class Operator {
  readonly #pool: Pool
  #isStopped = false
  #working: Promise<void> | undefined

  constructor(pool: Pool) {
    this.#pool = pool
  }

  start(): void {
    this.#working = this.#work()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#working
  }

  async #work(): Promise<void> {
    while (!this.#isStopped) {
      // Whether the server is there or not: the next round does what this one could not.
      await this.#round().catch(() => {})
      await pause(ROUND_MS)
    }
  }

  async #round(): Promise<void> {
    const failed = `from lazaret.outbox where status = 'failed' and deleted_at is null`
    const isKind = (kind: string) => `payload ->> 'kind' = '${kind}'`
    await this.#pool.query(
      `select lazaret.outbox_replay(event_id, null, 'operator') from (select event_id ${failed} and ${isKind('recoverable')}) m`,
    )
    await this.#pool.query(
      `update lazaret.outbox set deleted_at = now() where seq in (
         select seq ${failed} and channel = $1 and ${isKind('permanent')})`,
      [ORDERED],
    )
  }
}
