import type { Pool, PoolClient } from 'pg'
import type { PostgresOutbox } from '../../../src/adapters/postgres/index.ts'
import type { LazaretEvent } from '../../../src/core/event/event.ts'
import { pause } from '../campaign/wait.ts'

const PER_TRANSACTION = 100
/** Of all events, so that every fault finds somebody enqueuing, not only the first. */
const MOST_AHEAD = 0.1

/** Enqueues batch after batch, as a service does: each in a transaction, again when that did not come to pass. */
export class Enqueuer {
  /** Transactions that the server's end took with it, and that were made once more. */
  again = 0
  /** Committed, though nobody was told any more. */
  foundCommitted = 0
  readonly #pool: Pool
  readonly #outbox: PostgresOutbox
  #isStopped = false

  constructor(pool: Pool, outbox: PostgresOutbox) {
    this.#pool = pool
    this.#outbox = outbox
  }

  /** After each batch the events of `phantoms` are enqueued in a transaction that is rolled back. */
  async enqueue(
    events: readonly LazaretEvent[],
    phantoms: readonly LazaretEvent[],
    handled: () => number,
  ): Promise<void> {
    const mostAhead = events.length * MOST_AHEAD
    for (let sent = 0; sent < events.length && !this.#isStopped; sent += PER_TRANSACTION) {
      while (sent - handled() > mostAhead && !this.#isStopped) await pause(50)
      await this.#commit(events.slice(sent, sent + PER_TRANSACTION))
      await this.#attempt(phantoms, 'rollback').catch(() => {})
    }
  }

  stop(): void {
    this.#isStopped = true
  }

  /** Whether a transaction came to pass whose commit was not answered, is asked before it is made again. */
  async #commit(events: readonly LazaretEvent[]): Promise<void> {
    for (let isInDoubt = false; !this.#isStopped; ) {
      try {
        if (isInDoubt && (await this.#isThere(events[0]!))) {
          this.foundCommitted++
          return
        }
        await this.#attempt(events, 'commit')
        return
      } catch {
        if (!isInDoubt) this.again++
        isInDoubt = true
        await pause(50)
      }
    }
  }

  async #attempt(events: readonly LazaretEvent[], end: 'commit' | 'rollback'): Promise<void> {
    const tx: PoolClient = await this.#pool.connect()
    try {
      await tx.query('begin')
      await this.#outbox.enqueue(tx, events)
      await tx.query(end)
      tx.release()
    } catch (error) {
      tx.release(true)
      throw error
    }
  }

  async #isThere({ id }: LazaretEvent): Promise<boolean> {
    const { rowCount } = await this.#pool.query('select from lazaret.outbox where event_id = $1', [id])
    return rowCount !== 0
  }
}
