import type { CommandRow, NewCommandRow } from '../../../adapter-kit/fleet/check-commands.ts'
import type { Database } from '../connection/database.ts'

interface StoredCommand extends CommandRow {
  readonly seq: number
}

/** Rows, and the time at which they were read. */
export interface ReadCommands {
  readonly rows: readonly StoredCommand[]
  readonly now: number
}

interface WaitingCommand {
  readonly seq: number
  readonly body: string
  readonly isOver: number
}

/** Commands to the processes of the fleet. `recipients` has those that wait, for each instance that may claim them. */
export class CommandTable {
  readonly #db: Database
  readonly #context: { readonly now: number }

  constructor(db: Database, context: { readonly now: number }) {
    this.#db = db
    this.#context = context
  }

  send(rows: readonly NewCommandRow[]): void {
    for (const { id, request, recipients, body, ttlMs } of rows) {
      const command = this.#db.get<{ seq: number }>`insert into commands(id, request, sent_at, ttl_ms, body)
        values(${id}, ${request}, ${this.#context.now}, ${ttlMs}, ${body}) on conflict do nothing returning seq`
      if (command === undefined) continue
      for (const instance of recipients)
        this.#db
          .run`insert into recipients(instance, seq) values(${instance}, ${command.seq}) on conflict do nothing`
    }
  }

  /** Whether a claim may find something. The reading thread can tell, and does not wait for writers. */
  isAwaited(instance: string): boolean {
    return this.#db.get`select 1 from recipients where instance = ${instance} limit 1` !== undefined
  }

  /** The bodies of the claimed commands. */
  claim(instance: string, limit: number): readonly string[] {
    const claimed: string[] = []
    while (claimed.length < limit) {
      const wanted = limit - claimed.length
      const found = this.#take(instance, wanted)
      claimed.push(...found.filter(({ isOver }) => isOver === 0).map(({ body }) => body))
      if (found.length < wanted) break
    }
    return claimed
  }

  /** Takes the oldest commands for good: one that is over stays expired, even if the clock is set later. */
  #take(instance: string, limit: number): readonly WaitingCommand[] {
    const { now } = this.#context
    const found = this.#db.all<WaitingCommand>`
      select c.seq, c.body, c.ended_at is not null or abs(${now} - c.sent_at) >= c.ttl_ms as isOver
      from recipients r join commands c on c.seq = r.seq where r.instance = ${instance} order by r.seq limit ${limit}`
    for (const { seq, isOver } of found) {
      this.#db.run`delete from recipients where seq = ${seq}`
      if (isOver === 0)
        this.#db.run`update commands set claimed_by = ${instance}, claimed_at = ${now} where seq = ${seq}`
    }
    this.end(found.filter(({ isOver }) => isOver !== 0).map(({ seq }) => seq))
    return found
  }

  /** Keeps that these commands are over, unless their outcome came meanwhile. */
  end(seqs: readonly number[]): void {
    for (const seq of seqs)
      this.#db
        .run`update commands set ended_at = ${this.#context.now} where seq = ${seq} and ended_at is null`
  }

  finish(id: string, instance: string, outcome: string): boolean {
    const finished = this.#db.run`update commands set ended_at = ${this.#context.now}, outcome = ${outcome}
      where id = ${id} and claimed_by = ${instance} and outcome is null`
    return finished === 1
  }

  get(request: string): ReadCommands {
    return this.#read(
      this.#db.all`select seq, body, sent_at as sentAt, ttl_ms as ttlMs, claimed_by as claimedBy,
      claimed_at as claimedAt, ended_at as endedAt, outcome from commands where request = ${request} order by seq`,
    )
  }

  /** The newest first. */
  list(limit: number): ReadCommands {
    return this.#read(
      this.#db.all`select seq, body, sent_at as sentAt, ttl_ms as ttlMs, claimed_by as claimedBy,
      claimed_at as claimedAt, ended_at as endedAt, outcome from commands order by seq desc limit ${limit}`,
    )
  }

  /** Deletes at most this many commands that are over and were sent before a time. Returns their number. */
  purge(before: number, most: number): number {
    const over = this.#db.all<{ seq: number }>`select seq from commands where sent_at < ${before}
      and (ended_at is not null or abs(${this.#context.now} - sent_at) >= ttl_ms) order by seq limit ${most}`
    for (const { seq } of over) {
      this.#db.run`delete from recipients where seq = ${seq}`
      this.#db.run`delete from commands where seq = ${seq}`
    }
    return over.length
  }

  #read(rows: readonly StoredCommand[]): ReadCommands {
    return { rows, now: this.#context.now }
  }
}
