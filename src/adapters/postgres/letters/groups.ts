import {
  applyTriageChange,
  type GroupPosition,
  groupCursor,
  resolveGroupQuery,
} from '../../../adapter-kit/query/group-query.ts'
import { pageOf } from '../../../adapter-kit/query/page.ts'
import { currentTriage, type Triage, UNTRIAGED } from '../../../core/dead-letter/group.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { Group, GroupNote, Groups } from '../../../ports/groups.ts'
import type { PgPool, PgQueryable } from '../connection/client.ts'
import { Conditions } from '../connection/conditions.ts'
import { inTransaction, runQuery, runUncompiled } from '../connection/query.ts'
import { asMs, asTime, storableText, timeParameter } from '../connection/values.ts'
import { COUNTED, endOf } from './facet-counts.ts'
import { searchable } from './letter-table.ts'

/** Counts groups from the letters on demand. Triage and notes have their own table. `openPool` throws once the store is closed. */
export function postgresGroups(openPool: () => PgPool, clock: Clock): Groups {
  const groups: Groups = {
    async list(query) {
      const pool = openPool()
      const { state, limit, startAfter: place, ...wanted } = resolveGroupQuery(query)
      const found: GroupRow[] = []
      let behind = place
      // The state of a group depends on the time of asking, so the database does not filter by it.
      for (let isMore = true; isMore && found.length <= limit; ) {
        const rows = await readGroups(pool, wanted, behind, limit + 1)
        found.push(...rows.filter(row => state === undefined || triageOf(row).state === state))
        behind = rows.at(-1)
        isMore = rows.length > limit
      }
      const { shown, cursor } = pageOf(found, limit, last => groupCursor(last, query ?? {}))
      return { groups: await withChannels(pool, shown), cursor }
    },

    async get(id) {
      const pool = openPool()
      const row = await readGroup(pool, id)
      return row && (await withChannels(pool, [row]))[0]
    },

    async change(id, change) {
      const doing = 'changing a group'
      const isChanged = await inTransaction(openPool(), doing, async client => {
        const { rows } = await runQuery(
          client,
          doing,
          `select triage::text as triage, notes::text as notes from lazaret.groups g
           where id = $1 and exists (select from lazaret.dead_letters where group_id = g.id) for update`,
          [storableText(id)],
        )
        if (rows.length === 0) return false
        const before = { triage: triageIn(rows[0]), notes: JSON.parse(rows[0].notes) }
        const { triage, notes } = applyTriageChange(before, change)
        const update = 'update lazaret.groups set triage = $2, notes = $3 where id = $1'
        await runQuery(client, doing, update, [id, JSON.stringify(triage), JSON.stringify(notes)])
        return true
      })
      return isChanged ? groups.get(id) : undefined
    },
  }
  return groups

  function triageOf(row: GroupRow) {
    const triage = triageIn(row)
    return { triage, ...currentTriage(triage, row.lastSeenAt, clock.now()) }
  }

  async function withChannels(pool: PgPool, rows: readonly GroupRow[]): Promise<Group[]> {
    const channels = await readChannels(pool, rows)
    return rows.map(row => ({
      ...row,
      ...triageOf(row),
      channels: channels.get(row.id) ?? [],
      notes: JSON.parse(row.notes) as GroupNote[],
    }))
  }
}

function triageIn({ triage }: Pick<GroupRow, 'triage'>): Triage {
  return triage === null ? UNTRIAGED : JSON.parse(triage)
}

const MAX_CHANNELS = 20

/** A group as it is read, before its triage is known for the moment of asking. */
interface GroupRow extends Omit<Group, 'channels' | 'triage' | 'state' | 'regressed' | 'notes'> {
  /** JSON. */
  readonly triage: string | null
  readonly notes: string
}

/** Selects every group with letters, and their counts: the sums of those of its facets. */
function groupsWhere(conditions: string, ofFacets = 'true'): string {
  return `with ${COUNTED} select g.id, g.title, g.rule, g.basis, g.category, g.triage::text as triage, g.notes::text as notes,
    t.count, t.waiting, t.replayed, t.recovered, ${asMs('t.first_at')} as "firstSeenAt",
    ${asMs('t.last_at')} as "lastSeenAt"
  from (
    select f.group_id, sum(c.letters)::float8 as count,
      coalesce(sum(c.letters) filter (where f.state in ('dead', 'quarantined', 'parked')), 0)::float8 as waiting,
      sum(c.replayed)::float8 as replayed,
      coalesce(sum(c.replayed) filter (where f.state = 'resolved'), 0)::float8 as recovered,
      min(o.at) as first_at, max(n.at) as last_at
    from lazaret.letter_facets f join counted c on c.facet = f.id
    cross join ${endOf('first_failed_at', 'asc')} o cross join ${endOf('last_failed_at', 'desc')} n
    where ${ofFacets} group by f.group_id
  ) t join lazaret.groups g on g.id = t.group_id where ${conditions}`
}

async function readGroup(on: PgPool, id: string): Promise<GroupRow | undefined> {
  const { rows } = await runUncompiled(on, 'reading a group', groupsWhere('true', 'f.group_id = $1'), [
    storableText(id),
  ])
  return rows[0]
}

/** Last seen first, of the same time the lesser id first. */
async function readGroups(
  on: PgPool,
  { channel, search }: { readonly channel: string | undefined; readonly search: string | undefined },
  behind: GroupPosition | undefined,
  limit: number,
): Promise<readonly GroupRow[]> {
  const conditions = new Conditions(limit)
  if (channel !== undefined)
    conditions.add(
      storableText(channel),
      parameter =>
        `exists (select from lazaret.letter_facets f join counted c on c.facet = f.id
           where f.group_id = g.id and f.channel = $${parameter})`,
    )
  if (search !== undefined)
    conditions.add(searchable(search), parameter => `position($${parameter}::text in g.search) > 0`)
  if (behind !== undefined) {
    const at = asTime(conditions.values.push(timeParameter(behind.lastSeenAt)))
    conditions.add(behind.id, id => `(t.last_at < ${at} or (t.last_at = ${at} and g.id > $${id}))`)
  }
  const statement = `${groupsWhere(conditions.text)} order by t.last_at desc, g.id limit $1`
  return (await runUncompiled(on, 'listing groups', statement, conditions.values)).rows
}

/** The channels of each group, those with most letters first. */
async function readChannels(
  on: PgQueryable,
  groups: readonly GroupRow[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const { rows } = await runQuery(
    on,
    'reading the channels of groups',
    `with ${COUNTED} select f.group_id as "group", f.channel
     from lazaret.letter_facets f join counted c on c.facet = f.id where f.group_id = any ($1::text[])
     group by f.group_id, f.channel order by sum(c.letters) desc, f.channel`,
    [groups.map(({ id }) => id)],
  )
  const channels = new Map<string, string[]>()
  for (const { group, channel } of rows) {
    const known = channels.get(group)
    if (known === undefined) channels.set(group, [channel])
    else if (known.length < MAX_CHANNELS) known.push(channel)
  }
  return channels
}
