import { Gathering } from '../../../adapter-kit/gathering.ts'
import type { DeliveredReplay } from '../../../core/dead-letter/change.ts'
import type { AttemptFailure, AttemptRecord, DeadLetter } from '../../../core/dead-letter/letter.ts'
import type { Settlement } from '../../../ports/broker.ts'
import type { Clock } from '../../../ports/clock.ts'
import { inTransaction } from '../connection/ask.ts'
import type { PgPool } from '../connection/client.ts'
import { fitted } from '../connection/columns.ts'
import { holdable } from '../connection/text.ts'
import type { LetterTable } from '../letters/letter-table.ts'
import type { OutboxDelivery } from './delivery.ts'
import type { Holdings } from './holdings.ts'
import type { Owner } from './owner.ts'
import {
  type BackRow,
  type Delivered,
  type EndedRow,
  lockOpen,
  markDone,
  markFailed,
  putBack,
  recordEnded,
  type Settled,
} from './settlements.ts'
import { Waits } from './waits.ts'

const MOST_AT_ONCE = 1_000
/** A wait beyond this is as good as for ever, and Postgres has no time for every number. */
const LONGEST_DELAY_MS = 100 * 365 * 86_400_000

interface SettlerParts {
  readonly pool: PgPool
  readonly owner: Owner
  readonly holdings: Holdings
  readonly letters: LetterTable
  readonly clock: Clock
  readonly delivered: Delivered
}

/**
 * Records attempts and settlements; false when the delivery is not open any more. What is settled while a commit is
 * under way is settled by the next one together.
 */
export class Settler {
  readonly #parts: SettlerParts
  readonly #done: Gathering<OutboxDelivery, boolean>
  readonly #back: Gathering<BackRow, boolean>
  readonly #ended: Gathering<EndedRow, boolean>
  readonly #waits = new Waits()

  constructor(parts: SettlerParts) {
    const { pool } = parts
    this.#parts = parts
    this.#done = new Gathering(MOST_AT_ONCE, deliveries => this.#markDone(deliveries))
    this.#back = new Gathering(MOST_AT_ONCE, async rows => which(rows, await putBack(pool, rows)))
    this.#ended = new Gathering(MOST_AT_ONCE, async rows => which(rows, await recordEnded(pool, rows)))
  }

  async begin(delivery: OutboxDelivery, ended: readonly AttemptRecord[]): Promise<boolean> {
    const before = delivery.attempts
    delivery.begin(ended)
    const isOpen = ended.length === 0 || (await this.#ended.add(endedRow(delivery, before, ended)))
    const hasBegun = isOpen && (await this.#parts.owner.begin(delivery))
    // Somebody else has it, or will: nobody here says anything of it any more.
    if (!hasBegun) this.#forget(delivery)
    return hasBegun
  }

  async settle(delivery: OutboxDelivery, settlement: Settlement): Promise<boolean> {
    const isSettled = await this.#settle(delivery, settlement)
    // Not before it is settled: if the process dies until then, the attempt it was about must count.
    this.#forget(delivery)
    this.#waits.forget(delivery.seq)
    return isSettled
  }

  #settle(delivery: OutboxDelivery, settlement: Settlement): Promise<boolean> {
    switch (settlement.outcome) {
      case 'done':
        return delivery.replay === undefined
          ? this.#done.add(delivery)
          : this.#recover(delivery, delivery.replay)
      case 'retry':
        delivery.end(settlement.ended)
        return this.#back.add({
          ...endedRow(delivery, delivery.attempts, settlement.ended),
          delayMs: this.#delayUntil(settlement.notBefore),
        })
      case 'release':
        return this.#back.add({
          ...endedRow(delivery, delivery.attemptsTakenBack, []),
          delayMs: this.#delayUntil(settlement.notBefore),
        })
      case 'dead':
        return this.#bury(delivery, settlement.letter, settlement.saved)
    }
  }

  /**
   * As if it had not been handed over, but for the attempts that began meanwhile. Never rejects: what cannot be given back
   * now is in flight without anybody knowing, and that is looked for.
   */
  giveBack(delivery: OutboxDelivery): Promise<void> {
    return this.#putBack(delivery, { ...endedRow(delivery, delivery.attempts, []), delayMs: null })
  }

  /**
   * Its settlement could not be recorded, or that its attempt begins could not: then there is none. Whatever ran has come
   * to its end, so that nothing crashed. It comes again after a while, which is answered.
   */
  async putOff(delivery: OutboxDelivery, settlement?: Settlement): Promise<number> {
    const isTakenBack = settlement === undefined || settlement.outcome === 'release'
    const attempts = isTakenBack ? delivery.attemptsTakenBack : delivery.attempts
    const wanted =
      settlement !== undefined && 'notBefore' in settlement ? this.#delayUntil(settlement.notBefore) : 0
    const delayMs = Math.max(wanted, this.#waits.next(delivery.seq))
    const row = endedRow(delivery, attempts, settlement?.outcome === 'retry' ? settlement.ended : [])
    await this.#putBack(delivery, { ...row, ended: attempts - delivery.crashes, delayMs })
    return delayMs
  }

  async #putBack(delivery: OutboxDelivery, row: BackRow): Promise<void> {
    try {
      await this.#back.add(row)
      this.#forget(delivery)
    } catch {
      this.#parts.holdings.lose(delivery)
      this.#parts.owner.end(delivery)
    }
  }

  #forget(delivery: OutboxDelivery): void {
    this.#parts.owner.end(delivery)
    this.#parts.holdings.drop(delivery)
  }

  /** Those of one owner and number of attempts together; when that fails for some, the others are settled all the same. */
  async #markDone(deliveries: readonly OutboxDelivery[]): Promise<(boolean | Promise<boolean>)[]> {
    const alike = Map.groupBy(deliveries, ({ owner, attempts }) => `${owner} ${attempts}`)
    const answers = new Map<OutboxDelivery, boolean | Promise<boolean>>()
    const settle = async (group: readonly OutboxDelivery[]) => {
      const { owner, attempts } = group[0]!
      const rows = { owner, attempts, seqs: group.map(({ seq }) => seq) }
      try {
        const settled = await markDone(this.#parts.pool, rows, this.#parts.delivered)
        if (settled === 'all') return
        for (const each of group) if (!settled.has(each.seq)) answers.set(each, false)
      } catch (error) {
        for (const each of group) answers.set(each, failed(error))
      }
    }
    await Promise.all(Array.from(alike.values(), settle))
    return deliveries.map(each => answers.get(each) ?? true)
  }

  /** Its letter may be kept here and by nobody else: so it is resolved here, in the transaction that settles the event. */
  #recover(delivery: OutboxDelivery, replay: DeliveredReplay): Promise<boolean> {
    const { pool, letters, clock, delivered } = this.#parts
    return inTransaction(pool, 'settling an event as done', async client => {
      if (!(await lockOpen(client, delivery.seq, delivery.owner))) return false
      const { seq, owner, attempts, keptLetterId } = delivery
      const resolved = { to: 'resolved', at: clock.now(), under: replay.claim } as const
      // SQL leaves the headers of an earlier replay, which may name a letter of another channel.
      for (const id of new Set([keptLetterId, replay.letterId]))
        if (id !== undefined) await letters.endReplay(client, id, resolved)
      await markDone(client, { seqs: [seq], owner, attempts }, delivered)
      return true
    })
  }

  #bury(delivery: OutboxDelivery, letter: DeadLetter, isSaved: boolean): Promise<boolean> {
    const { pool, letters, clock } = this.#parts
    const { cycle } = letter
    const { replay } = delivery
    const row = {
      seq: delivery.seq,
      owner: delivery.owner,
      attempts: delivery.attempts,
      error: cycle.failure === undefined ? null : errorText(cycle.failure, delivery.isSealed),
      firstFailedAt: cycle.firstFailedAt,
      letterId: letter.id,
      isKept: !isSaved,
    }
    if (isSaved) return markFailed(pool, row)
    return inTransaction(pool, 'settling an event as dead', async client => {
      if (!(await lockOpen(client, row.seq, row.owner))) return false
      await letters.save(client, letter)
      if (replay?.isRedirected)
        await letters.endReplay(client, replay.letterId!, {
          to: 'dead',
          at: clock.now(),
          under: replay.claim,
        })
      return markFailed(client, row)
    })
  }

  /** Told as a delay, so that it does not matter by how much the server's clock differs from this one. */
  #delayUntil(notBefore: number): number {
    return Math.min(LONGEST_DELAY_MS, Math.max(0, notBefore - this.#parts.clock.now()))
  }
}

function endedRow(delivery: OutboxDelivery, attempts: number, ended: readonly AttemptRecord[]): EndedRow {
  const failed = ended.filter(({ failure }) => failure !== undefined)
  const last = failed.at(-1)?.failure
  return {
    seq: delivery.seq,
    owner: delivery.owner,
    attempts,
    ended: delivery.attemptsEnded,
    log: delivery.attemptLog,
    error: last === undefined ? null : errorText(last, delivery.isSealed),
    firstFailedAt: failed[0]?.endedAt ?? null,
  }
}

/** A message quotes the payload, so where events are sealed only the name is told. */
function errorText({ name, message }: Pick<AttemptFailure, 'name' | 'message'>, isSealed: boolean): string {
  return fitted(holdable(isSealed ? name : `${name}: ${message}`))
}

/** Heard by whoever waits for it, and by nobody if that comes later than other groups. */
function failed(error: unknown): Promise<never> {
  const rejected = Promise.reject(error)
  rejected.catch(() => {})
  return rejected
}

function which(items: readonly { readonly seq: number }[], settled: Settled): boolean[] {
  return items.map(({ seq }) => settled === 'all' || settled.has(seq))
}
