import type { DatabaseSync } from 'node:sqlite'
import { GroupReader } from '../letters/group-reader.ts'
import { LetterReader } from '../letters/letter-reader.ts'
import { SnapshotReader } from '../operating/snapshot-table.ts'
import type { AuditRow, JournalRow, ReadCalls } from './calls.ts'
import { all } from './rows.ts'

/** What can be asked of the reading thread. It sees what is committed, and waits for nobody. */
export function readCalls(db: DatabaseSync, now: () => number): ReadCalls {
  const letters = new LetterReader(db)
  const groups = new GroupReader(db)
  const snapshots = new SnapshotReader(db)
  const depth = db.prepare('select sum(depth) as depth from handlers where channel = ? and name is ?')
  const replay = db.prepare('select body from replays where id = ?')
  const replays = db.prepare(
    'select body from replays where ? is null or state = ? order by created_at desc, id desc limit ?',
  )
  const items = db.prepare(
    'select body from replay_items where replay = ? and position > ? order by position limit ?',
  )
  const itemsOf = db.prepare(
    'select body from replay_items where replay = ? and status = ? and position > ? order by position limit ?',
  )
  const counts = db.prepare(
    'select status, count(*) as count from replay_items where replay = ? group by status',
  )
  const journal = db.prepare('select id, body, sinks, job from journal order by seq')
  journal.setReturnArrays(true)
  const bodies = (rows: readonly { body: string }[]) => rows.map(({ body }) => body)
  return {
    listLetters: query => letters.list(query),
    getLetter: id => letters.get(id),
    statLetters: filter => letters.stats(filter),
    timeLetters: (filter, span) => letters.timeline(filter, span),
    listGroups: (query, behind) => groups.list(query, behind, now()),
    getGroup: id => groups.get(id),
    depth(channel, handler) {
      const [own, backlog] = [handler, null].map(name => depth.get(channel, name) as { depth: number | null })
      return own?.depth ?? backlog?.depth ?? 0
    },
    getReplay: id => (replay.get(id) as { body: string } | undefined)?.body,
    listReplays: (state, limit) => bodies(all(replays, state, state, limit)),
    listItems(id, status, after, limit) {
      return bodies(status === null ? all(items, id, after, limit) : all(itemsOf, id, status, after, limit))
    },
    countItems: id =>
      Object.fromEntries(
        all<{ status: string; count: number }>(counts, id).map(each => [each.status, each.count]),
      ),
    listJournal: () => all<JournalRow>(journal),
    listAudit(query, limit, before) {
      const wanted = Object.entries({ target: query.target, action: query.action }).flatMap(
        ([name, value]) => (value === undefined ? [] : [{ name, value }]),
      )
      const conditions = wanted.map(({ name }) => `and ${name} = ? `).join('')
      const entries = db.prepare(`select * from audit where seq < ? ${conditions}order by seq desc limit ?`)
      return all<AuditRow>(
        entries,
        before ?? Number.MAX_SAFE_INTEGER,
        ...wanted.map(({ value }) => value),
        limit,
      )
    },
    snapshotChannels: () => snapshots.channels(),
    listSnapshots: (...args) => snapshots.list(...args),
  }
}
