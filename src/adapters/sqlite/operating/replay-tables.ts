import type { ItemStatus, ReplayCounts, ReplayState } from '../../../ports/replays.ts'
import type { Database } from '../connection/database.ts'

/** Three to an item: position, status, JSON of all of it. */
export type ItemRows = readonly (number | string)[]
const ITEM_STRIDE = 3

interface Body {
  readonly body: string
}

/**
 * Replays and their items. The items of a new replay come first, in several requests. They stay invisible until the
 * replay itself is written, and that happens only if all of them are there.
 */
export class ReplayTables {
  readonly #db: Database
  readonly #context: { readonly now: number }

  constructor(db: Database, context: { readonly now: number }) {
    this.#db = db
    this.#context = context
  }

  /** Returns false if the replay already exists. */
  addItems(replay: string, items: ItemRows): boolean {
    if (this.get(replay) !== undefined) return false
    this.record(replay, items)
    return true
  }

  /** Deletes the items before a position. Items of a replay that is there stay. */
  removeItems(replay: string, before: number): void {
    this.#db.run`delete from replay_items where replay = ${replay} and position < ${before}
      and not exists (select 1 from replays where id = ${replay})`
  }

  record(replay: string, items: ItemRows): void {
    for (let at = 0; at < items.length; at += ITEM_STRIDE) {
      const [position, status, body] = items.slice(at, at + ITEM_STRIDE)
      this.#db.run`insert into replay_items(replay, position, status, body)
        values(${replay}, ${position!}, ${status!}, ${body!})
        on conflict(replay, position) do update set status = excluded.status, body = excluded.body`
    }
  }

  /** Only items whose stored form names the delivery, and has the status; null for any. */
  recordIf(replay: string, delivery: string | null, onlyStatus: string | null, items: ItemRows): void {
    for (let at = 0; at < items.length; at += ITEM_STRIDE) {
      const [position, status, body] = items.slice(at, at + ITEM_STRIDE)
      this.#db.run`update replay_items set status = ${status!}, body = ${body!}
        where replay = ${replay} and position = ${position!}
          and (${delivery} is null or json_extract(body, '$.delivery') = ${delivery})
          and (${onlyStatus} is null or status = ${onlyStatus})`
    }
  }

  /** Returns false if items are missing, or the replay already exists. */
  create(
    id: string,
    state: string,
    createdAt: number,
    revision: number,
    body: string,
    items: number,
  ): boolean {
    const { count } = this.#db.get<{ count: number }>`
      select count(*) as count from replay_items where replay = ${id}`!
    if (count !== items) return false
    const created = this.#db.run`insert into replays(id, state, created_at, revision, body)
      values(${id}, ${state}, ${createdAt}, ${revision}, ${body}) on conflict do nothing`
    return created === 1
  }

  update(id: string, state: string, revision: number, body: string): boolean {
    const updated = this.#db.run`update replays set state = ${state}, revision = revision + 1, body = ${body}
      where id = ${id} and revision = ${revision}`
    return updated === 1
  }

  lease(id: string, owner: string, leaseMs: number): boolean {
    const { now } = this.#context
    // If a lease has more time left than its length, it was taken before the clock was set back.
    this.#db.run`update replays set until = ${now} + lease
      where id = ${id} and lease is not null and until > ${now} + lease`
    const leased = this.#db
      .run`update replays set owner = ${owner}, until = ${now + leaseMs}, lease = ${leaseMs}
      where id = ${id} and (owner is null or owner = ${owner} or until <= ${now})`
    return leased === 1
  }

  releaseLease(id: string, owner: string): void {
    this.#db.run`update replays set owner = null where id = ${id} and owner = ${owner}`
  }

  get(id: string): string | undefined {
    return this.#db.get<Body>`select body from replays where id = ${id}`?.body
  }

  list(state: ReplayState | null, limit: number): readonly string[] {
    return bodiesOf(this.#db.all`select body from replays
      where ${state} is null or state = ${state} order by created_at desc, id desc limit ${limit}`)
  }

  items(replay: string, status: ItemStatus | null, after: number, limit: number): readonly string[] {
    const rows: Body[] =
      status === null
        ? this.#db.all`select body from replay_items
            where replay = ${replay} and position > ${after} order by position limit ${limit}`
        : this.#db.all`select body from replay_items
            where replay = ${replay} and status = ${status} and position > ${after} order by position limit ${limit}`
    return bodiesOf(rows)
  }

  counts(replay: string): Partial<ReplayCounts> {
    const rows = this.#db.all<{ status: string; count: number }>`
      select status, count(*) as count from replay_items where replay = ${replay} group by status`
    return Object.fromEntries(rows.map(({ status, count }) => [status, count]))
  }
}

function bodiesOf(rows: readonly Body[]): readonly string[] {
  return rows.map(({ body }) => body)
}
