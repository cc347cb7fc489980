import type { PollLoop } from '../../../adapter-kit/poll-loop.ts'
import { yieldToEventLoop } from '../../../ports/clock.ts'
import type { PgQueryable } from '../connection/client.ts'
import { runQuery } from '../connection/query.ts'
import { arrayOf } from '../connection/values.ts'
import type { PostgresSettings } from '../options.ts'
import { IS_BLOCKED } from '../schema/functions.ts'
import type { ClaimedRows, ClaimNumber, MakeClaim } from './claimed-rows.ts'
import { CLAIMED_ROW, type ClaimedRow, OutboxDelivery } from './delivery.ts'
import type { ProcessLease } from './lease.ts'

/** The rows that a subscription claims. */
export interface ClaimScope {
  readonly channel: string
  readonly handler: string
  /** Whether events of one key are delivered in order, one at a time. */
  readonly isByKey: boolean
  /** Rows of a higher generation are left alone. */
  readonly generation: number
}

/** Claims rows for the subscriptions of this process. */
export class Claimer {
  readonly #settings: PostgresSettings
  readonly #lease: ProcessLease
  readonly #claimed: ClaimedRows
  readonly #rounds: PollLoop
  readonly #lanes = new WeakMap<ClaimScope, LaneScan>()
  /** By key: the scopes whose latest claim left no room for rows without a key. */
  readonly #passedOver = new WeakSet<ClaimScope>()

  constructor(settings: PostgresSettings, lease: ProcessLease, claimed: ClaimedRows, rounds: PollLoop) {
    this.#settings = settings
    this.#lease = lease
    this.#claimed = claimed
    this.#rounds = rounds
  }

  /**
   * Claims at most `limit` rows. `onFull` may be called once there are that many, before they are read: the next claim
   * need not wait for the reading. With `beginsAtOnce` the claim may record that the attempt of its first row begins. If it
   * then does not begin in the same turn, the caller calls `notBegunAtOnce`.
   */
  async claim(
    scope: ClaimScope,
    limit: number,
    beginsAtOnce: boolean,
    onFull: () => void,
  ): Promise<readonly OutboxDelivery[]> {
    const owner = await this.#lease.owner()
    const deliveries = await this.#claimed.claim<OutboxDelivery>(owner, make =>
      this.#claim(scope, owner, limit, beginsAtOnce, make, onFull),
    )
    try {
      await this.#lease.forgetAttempts(deliveries)
    } catch (error) {
      for (const delivery of deliveries) {
        this.#lease.loseRecorded(delivery)
        this.#claimed.lose(delivery)
      }
      throw error
    }
    if (deliveries.length > 0) this.#rounds.resetBackoff()
    return deliveries
  }

  notBegunAtOnce(first: OutboxDelivery): Promise<void> {
    return this.#lease.takeBackRecorded(first)
  }

  /** Called when there was nothing to claim: replaces a lost lease, and polls again when the next retry is due. */
  async lookAhead({ channel, handler }: ClaimScope): Promise<void> {
    const { pool } = this.#settings
    const values = [channel, handler, await this.#lease.owner()]
    const { rows } = await runQuery(pool, `looking for retries of channel ${channel}`, LOOK_AHEAD, values)
    const { isAlive, dueInMs } = rows[0]
    if (!isAlive) await this.#lease.renew(pool)
    if (dueInMs !== null) this.#rounds.wakeIn(dueInMs)
  }

  /**
   * By key, the first rows of lanes come before rows without a key. When they leave no room for those, the next claim takes
   * rows without a key first, so that neither kind keeps the other one waiting.
   */
  async #claim(
    scope: ClaimScope,
    owner: number,
    limit: number,
    beginsAtOnce: boolean,
    make: MakeClaim<OutboxDelivery>,
    onFull: () => void,
  ): Promise<OutboxDelivery[]> {
    const { pool, name: broker, codec } = this.#settings
    const { channel } = scope
    const deliveriesOf = (claimRows: (claim: OwnerClaim) => Promise<ClaimedRow[]>) =>
      make(async claim => {
        const rows = await claimRows({ owner, ...claim })
        const origin = { channel, number: claim.number, owner, broker }
        return rows.map(row => new OutboxDelivery(row, origin, codec.events))
      })
    const unordered = (room: number, tell: () => void) =>
      deliveriesOf(claim => claimRows(pool, scope, claim, room, tell))
    if (!scope.isByKey) {
      const begun = beginsAtOnce
        ? this.#lease.recordWithClaim(running =>
            deliveriesOf(claim => claimAndBegin(pool, scope, claim, limit, running)),
          )
        : undefined
      return begun ?? unordered(limit, onFull)
    }
    const lanes = this.#lanes.get(scope) ?? new LaneScan()
    this.#lanes.set(scope, lanes)
    const keyless = (room: number) => unordered(room, () => {})
    const keyed = async (room: number) => {
      const { seqs, dueInMs } = await lanes.ready(pool, scope, room)
      if (dueInMs !== undefined) this.#rounds.wakeIn(dueInMs)
      return seqs.length === 0 ? [] : deliveriesOf(claim => claimFirst(pool, scope, claim, seqs))
    }
    const isKeylessFirst = this.#passedOver.delete(scope)
    const [claimFormer, claimLatter] = isKeylessFirst ? [keyless, keyed] : [keyed, keyless]
    const first = await claimFormer(limit)
    if (first.length < limit) return [...first, ...(await claimLatter(limit - first.length))]
    if (!isKeylessFirst) this.#passedOver.add(scope)
    return first
  }
}

/**
 * One statement that commits by itself: no transaction stays open while a handler runs. It finds the rows by the index
 * of pending rows and takes them by an array of their places; with a join instead of the array the planner reads the
 * whole table. An owner that does not exist any more claims nothing. The process that ends an owner waits for its
 * running claims, and finds their rows by the numbers in `outbox_claims`.
 */
const CLAIM = `with alive as (select from lazaret.outbox_owners where id = $3 for key share),
ended as (delete from lazaret.outbox_claims where owner = $3 and number = any ($7::bigint[])),
picked as (
  select c.ctid as place, c.seq from lazaret.outbox c
  where exists (select from alive) and c.channel = $1 and c.target = $2 and c.owner is null
    and c.next_attempt_at <= statement_timestamp() and c.generation <= $4
    and c.lane is null order by c.next_attempt_at, c.seq limit $5 for update skip locked),
noted as (
  insert into lazaret.outbox_claims (owner, number, seqs)
  select $3, $6, array_agg(seq) from picked having count(*) > 0)
update lazaret.outbox o set status = 'in_flight', owner = $3
where o.ctid = any (array(select place from picked)) returning ${CLAIMED_ROW}`

/**
 * Between reading a lane and claiming its first row, an earlier row may be committed, and another process may claim that
 * one. So the function locks the lane and reads it again: of two processes that claim in one lane, the second sees the
 * claim of the first.
 */
const CLAIM_FIRST = `select ${CLAIMED_ROW} from lazaret.outbox_claim_first($1, $2, $3, $4, $5, $6, $7) o`

interface OwnerClaim extends ClaimNumber {
  readonly owner: number
}

/** Claims rows outside of lanes, those that have waited longest first. */
function claimRows(
  on: PgQueryable,
  scope: ClaimScope,
  claim: OwnerClaim,
  limit: number,
  onFull: () => void,
): Promise<ClaimedRow[]> {
  return runClaim(on, CLAIM, scope, claim, limit, async count => {
    if (count < limit) return
    onFull()
    // In the next turn the following claim is sent, and the server runs it while these rows are read.
    await yieldToEventLoop()
  })
}

/** Claims those of the rows, each the first of its lane, that can still be claimed. */
export function claimFirst(
  on: PgQueryable,
  scope: ClaimScope,
  claim: OwnerClaim,
  seqs: readonly number[],
): Promise<ClaimedRow[]> {
  return runClaim(on, CLAIM_FIRST, scope, claim, arrayOf(seqs))
}

const CLAIM_AND_BEGIN =
  'select row from lazaret.outbox_claim_and_begin($1, $2, $3, $4, $5, $6, $7, $8) as row'

/** Claims rows outside of lanes, and records that the attempt of the first one begins. The server has sorted them. */
async function claimAndBegin(
  on: PgQueryable,
  { channel, handler, generation }: ClaimScope,
  { owner, number, ended }: OwnerClaim,
  limit: number,
  running: readonly number[],
): Promise<ClaimedRow[]> {
  const values = [channel, handler, owner, generation, limit, number, arrayOf(ended), arrayOf(running)]
  const { rows } = await runQuery(on, `claiming events of channel ${channel}`, CLAIM_AND_BEGIN, values)
  return rows.map(({ row }) => JSON.parse(row))
}

/** Places in a `ClaimedRow`. */
const SEQ = 0
const DUE = 1

async function runClaim(
  on: PgQueryable,
  statement: string,
  { channel, handler, generation }: ClaimScope,
  { owner, number, ended }: OwnerClaim,
  which: unknown,
  onAnswer?: (count: number) => Promise<void>,
): Promise<ClaimedRow[]> {
  const values = [channel, handler, owner, generation, which, number, arrayOf(ended)]
  const { rows } = await runQuery(on, `claiming events of channel ${channel}`, statement, values)
  await onAnswer?.(rows.length)
  const claimed: ClaimedRow[] = rows.map(({ row }) => JSON.parse(row))
  return claimed.sort((one, other) => one[DUE] - other[DUE] || one[SEQ] - other[SEQ])
}

const LOOK_AHEAD = `select exists (select from lazaret.outbox_owners where id = $3) as "isAlive", (
  select (extract(epoch from next_attempt_at - statement_timestamp()) * 1000)::float8 from lazaret.outbox
  where channel = $1 and target = $2 and owner is null and lane is null
    and next_attempt_at > statement_timestamp() and next_attempt_at < 'infinity'
  order by next_attempt_at limit 1) as "dueInMs"`

/** The number of lanes that one statement reads. */
const LANES_PER_LOOK = 500

/**
 * The first pending row of each lane behind the one given, found by jumping from lane to lane. Rows that wait behind the
 * first one are never read, even a hundred thousand of them, and neither is a dead row that nothing waits for.
 */
const LANE_HEADS = `with recursive heads (lane, seq) as (
  (select o.lane, o.seq from lazaret.outbox o
   where o.channel = $1 and o.target = $2 and o.owner is null and o.lane > $3
   order by o.lane, o.seq limit 1)
  union all
  select n.lane, n.seq from heads h, lateral (
    select o.lane, o.seq from lazaret.outbox o
    where o.channel = $1 and o.target = $2 and o.owner is null and o.lane > h.lane
    order by o.lane, o.seq limit 1) n
)
select h.lane, o.seq::float8 as seq,
  o.status = 'pending' and o.next_attempt_at <= statement_timestamp() and o.generation <= $4
    and not ${IS_BLOCKED('o')} as "isReady",
  case when o.status = 'pending' and o.next_attempt_at > statement_timestamp() and isfinite(o.next_attempt_at)
    then (extract(epoch from o.next_attempt_at - statement_timestamp()) * 1000)::float8 end as "dueInMs"
from (select * from heads limit ${LANES_PER_LOOK}) h join lazaret.outbox o on o.seq = h.seq
order by h.lane`

interface LaneHead {
  readonly lane: string
  readonly seq: number
  readonly isReady: boolean
  /** The time until the row is due; null if it does not wait for a time. */
  readonly dueInMs: number | null
}

interface ReadyLanes {
  readonly seqs: readonly number[]
  /** The time until the next waiting row is due. */
  readonly dueInMs: number | undefined
}

/** Reads the lanes of a handler round-robin: each scan continues where the last one ended, so that every lane is read. */
export class LaneScan {
  #behind = ''

  /** Returns at most `limit` rows that are ready and first in their lane. It returns fewer only after reading every lane. */
  async ready(on: PgQueryable, scope: ClaimScope, limit: number): Promise<ReadyLanes> {
    const start = this.#behind
    const seqs: number[] = []
    let dueInMs: number | undefined
    for (let hasTurned = start === ''; ; ) {
      const heads = await this.#readHeads(on, scope)
      for (const head of heads) {
        if (hasTurned && start !== '' && head.lane > start) return { seqs, dueInMs }
        this.#behind = head.lane
        if (head.dueInMs !== null) dueInMs = Math.min(dueInMs ?? head.dueInMs, head.dueInMs)
        if (head.isReady) seqs.push(head.seq)
        if (seqs.length === limit) return { seqs, dueInMs }
      }
      if (heads.length === LANES_PER_LOOK) continue
      this.#behind = ''
      if (hasTurned) return { seqs, dueInMs }
      hasTurned = true
    }
  }

  async #readHeads(
    on: PgQueryable,
    { channel, handler, generation }: ClaimScope,
  ): Promise<readonly LaneHead[]> {
    const values = [channel, handler, this.#behind, generation]
    return (await runQuery(on, `looking for events of channel ${channel}`, LANE_HEADS, values)).rows
  }
}
