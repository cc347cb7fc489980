import type { DatabaseSync } from 'node:sqlite'
import { ITEM_STRIDE, type ItemRows } from '../connection/calls.ts'

/**
 * Replays and their items. A new one's items come first, in as many requests as it takes; nobody sees them before the
 * replay itself is written, which happens only when all of them are there.
 */
export class ReplayTables {
  readonly #putItem
  readonly #countItems
  readonly #exists
  readonly #insert
  readonly #update
  readonly #lease
  readonly #bound
  readonly #letGo

  constructor(db: DatabaseSync) {
    this.#putItem = db.prepare(
      `insert into replay_items(replay, position, status, body) values(?, ?, ?, ?)
       on conflict(replay, position) do update set status = excluded.status, body = excluded.body`,
    )
    this.#countItems = db.prepare('select count(*) as count from replay_items where replay = ?')
    this.#exists = db.prepare('select 1 from replays where id = ?')
    this.#insert = db.prepare(
      'insert into replays(id, state, created_at, revision, body) values(?, ?, ?, ?, ?) on conflict do nothing',
    )
    this.#update = db.prepare(
      'update replays set state = ?, revision = revision + 1, body = ? where id = ? and revision = ?',
    )
    this.#lease = db.prepare(
      'update replays set owner = ?, until = ?, lease = ? where id = ? and (owner is null or owner = ? or until <= ?)',
    )
    // What has more time left than it was taken for was taken before the clock was set back.
    this.#bound = db.prepare(
      'update replays set until = ?1 + lease where id = ?2 and lease is not null and until > ?1 + lease',
    )
    this.#letGo = db.prepare('update replays set owner = null where id = ? and owner = ?')
  }

  /** False when there is such a replay already. */
  addItems(replay: string, items: ItemRows): boolean {
    if (this.#exists.get(replay) !== undefined) return false
    this.record(replay, items)
    return true
  }

  record(replay: string, items: ItemRows): void {
    for (let at = 0; at < items.length; at += ITEM_STRIDE)
      this.#putItem.run(replay, ...items.slice(at, at + ITEM_STRIDE))
  }

  /** False when its items are not all there, or it is there already. */
  create(
    id: string,
    state: string,
    createdAt: number,
    revision: number,
    body: string,
    items: number,
  ): boolean {
    if ((this.#countItems.get(id) as { count: number }).count !== items) return false
    return this.#insert.run(id, state, createdAt, revision, body).changes === 1
  }

  update(id: string, state: string, revision: number, body: string): boolean {
    return this.#update.run(state, body, id, revision).changes === 1
  }

  lease(id: string, owner: string, leaseMs: number, now: number): boolean {
    this.#bound.run(now, id)
    return this.#lease.run(owner, now + leaseMs, leaseMs, id, owner, now).changes === 1
  }

  letGo(id: string, owner: string): void {
    this.#letGo.run(id, owner)
  }
}
