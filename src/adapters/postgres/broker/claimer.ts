import type { EventCodec } from '../../../ports/codec.ts'
import type { PgPool } from '../connection/client.ts'
import { type ClaimedRow, type ClaimFor, claimFirst, claimRows, lookAhead, type Outlook } from './claiming.ts'
import { OutboxDelivery } from './delivery.ts'
import type { Holdings, TakeNote } from './holdings.ts'
import { Lanes } from './lanes.ts'
import type { Owner } from './owner.ts'

interface ClaimerParts {
  readonly pool: PgPool
  readonly owner: Owner
  readonly holdings: Holdings
  readonly broker: string
  readonly codec: EventCodec
  /** Told when something that waits for its time will be ready. */
  wakeIn(delayMs: number): void
}

/** Takes what is ready for this process. */
export class Claimer {
  readonly #parts: ClaimerParts
  readonly #lanes = new WeakMap<ClaimFor, Lanes>()

  constructor(parts: ClaimerParts) {
    this.#parts = parts
  }

  /** `onFull` is told before the rows are read, so that the next claim need not wait for that. */
  async claim(claimFor: ClaimFor, limit: number, onFull: () => void): Promise<readonly OutboxDelivery[]> {
    const { owner, holdings, broker, codec } = this.#parts
    const id = await owner.id()
    const rows = await holdings.claim(id, note => this.#take(claimFor, id, limit, note, onFull))
    try {
      await owner.forgetAttempts(rows.map(({ seq }) => seq))
    } catch (error) {
      for (const row of rows) holdings.lose(row)
      throw error
    }
    return rows.map(row => new OutboxDelivery(row, id, broker, codec))
  }

  /** What is to come, when there was nothing to claim. */
  async lookAhead(claimFor: ClaimFor): Promise<Outlook> {
    return lookAhead(this.#parts.pool, claimFor, await this.#parts.owner.id())
  }

  /** What is first in its lane, and with the room that is left what no order binds. */
  async #take(
    claimFor: ClaimFor,
    owner: number,
    limit: number,
    note: TakeNote,
    onFull: () => void,
  ): Promise<ClaimedRow[]> {
    const { pool, wakeIn } = this.#parts
    const some = (room: number, tell: () => void) =>
      note(claim => claimRows(pool, claimFor, { owner, ...claim }, room, tell))
    if (!claimFor.isByKey) return some(limit, onFull)
    const { seqs, dueInMs } = await this.#lanesOf(claimFor).ready(pool, claimFor, limit)
    if (dueInMs !== undefined) wakeIn(dueInMs)
    const first =
      seqs.length === 0 ? [] : await note(claim => claimFirst(pool, claimFor, { owner, ...claim }, seqs))
    const room = limit - first.length
    return room === 0 ? first : [...first, ...(await some(room, () => {}))]
  }

  #lanesOf(claimFor: ClaimFor): Lanes {
    const known = this.#lanes.get(claimFor) ?? new Lanes()
    this.#lanes.set(claimFor, known)
    return known
  }
}
