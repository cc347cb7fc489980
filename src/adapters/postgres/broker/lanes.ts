import { ask } from '../connection/ask.ts'
import type { PgQueryable } from '../connection/client.ts'
import { HELD_UP } from '../schema/functions.ts'
import type { ClaimFor } from './claiming.ts'

/** Lanes that one statement looks at. */
const LANES_PER_LOOK = 500

interface Head {
  readonly lane: string
  readonly seq: number
  readonly isReady: boolean
  /** How long until it may be handed over; null when it does not wait for a time. */
  readonly dueInMs: number | null
}

/**
 * The first pending row of each lane behind the one given, found by jumping from lane to lane: what waits in a lane behind
 * its first row, be it a hundred thousand behind a dead one, is never looked at, nor is a dead one that nothing waits for.
 */
const HEADS = `with recursive heads (lane, seq) as (
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
    and not ${HELD_UP('o')} as "isReady",
  case when o.status = 'pending' and o.next_attempt_at > statement_timestamp() and isfinite(o.next_attempt_at)
    then (extract(epoch from o.next_attempt_at - statement_timestamp()) * 1000)::float8 end as "dueInMs"
from (select * from heads limit ${LANES_PER_LOOK}) h join lazaret.outbox o on o.seq = h.seq
order by h.lane`

interface ReadyLanes {
  readonly seqs: readonly number[]
  /** How long until the next of those that wait for a time may be handed over. */
  readonly dueInMs: number | undefined
}

/** Goes round the lanes of a handler, on from where it was last time, so that no lane waits for ever behind others. */
export class Lanes {
  #behind = ''

  /** The first rows that are ready, at most so many; fewer only when it has been all the way round. */
  async ready(on: PgQueryable, claimFor: ClaimFor, limit: number): Promise<ReadyLanes> {
    const start = this.#behind
    const seqs: number[] = []
    let dueInMs: number | undefined
    for (let hasTurned = start === ''; ; ) {
      const heads = await lookAtHeads(on, claimFor, this.#behind)
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
}

async function lookAtHeads(
  on: PgQueryable,
  { channel, handler, generation }: ClaimFor,
  behind: string,
): Promise<readonly Head[]> {
  const values = [channel, handler, behind, generation]
  return (await ask(on, `looking for events of channel ${channel}`, HEADS, values)).rows
}
