import { ask } from '../connection/ask.ts'
import type { PgQueryable } from '../connection/client.ts'

const ROWS_PER_STEP = 5_000

/**
 * Rows in flight whose owner there is no more, and that nothing else would find. There should be none: this is the net
 * under everything that should have given them back. The table is gone through by number, a step at a time.
 */
export class Strays {
  readonly #pool: PgQueryable
  #next = 0

  constructor(pool: PgQueryable) {
    this.#pool = pool
  }

  /** One step; whether there were any. */
  async giveBack(): Promise<boolean> {
    const { rows } = await ask(
      this.#pool,
      'looking for events without an owner',
      'select found, next::float8 as next from lazaret.outbox_give_back_strays($1::bigint, $2::integer)',
      [this.#next, ROWS_PER_STEP],
    )
    this.#next = rows[0].next ?? 0
    return rows[0].found > 0
  }
}
