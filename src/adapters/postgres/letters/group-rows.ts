import type { GroupPlace } from '../../../adapter-kit/query/group-query.ts'
import type { Grouping } from '../../../core/dead-letter/group.ts'
import type { Category } from '../../../core/failure/failure.ts'
import { ask } from '../connection/ask.ts'
import type { PgQueryable } from '../connection/client.ts'
import { asMs, asTime, holdable, timeParameter } from '../connection/text.ts'
import { Conditions } from './letter-filter.ts'
import { searchable } from './letter-row.ts'

const MOST_CHANNELS = 20

export interface GroupRow extends Grouping {
  readonly category: Category
  readonly count: number
  readonly waiting: number
  readonly replayed: number
  readonly recovered: number
  readonly firstSeenAt: number
  readonly lastSeenAt: number
  readonly triage: string | null
  readonly notes: string
}

/** Every group that has letters, with what is counted of them. */
function groupsWhere(conditions: string, ofLetters = 'true'): string {
  return `select g.id, g.title, g.rule, g.basis, g.category, g.triage::text as triage, g.notes::text as notes,
    t.count, t.waiting, t.replayed, t.recovered, ${asMs('t.first_at')} as "firstSeenAt",
    ${asMs('t.last_at')} as "lastSeenAt"
  from (
    select group_id, count(*)::float8 as count,
      (count(*) filter (where state in ('dead', 'quarantined', 'parked')))::float8 as waiting,
      (count(*) filter (where replays > 0))::float8 as replayed,
      (count(*) filter (where replays > 0 and state = 'resolved'))::float8 as recovered,
      min(first_failed_at) as first_at, max(last_failed_at) as last_at
    from lazaret.dead_letters where ${ofLetters} group by group_id
  ) t join lazaret.groups g on g.id = t.group_id where ${conditions}`
}

export async function readGroup(on: PgQueryable, id: string): Promise<GroupRow | undefined> {
  const { rows } = await ask(on, 'reading a group', groupsWhere('true', 'group_id = $1'), [holdable(id)])
  return rows[0]
}

/** Last seen first, of the same time the lesser id first. */
export async function readGroups(
  on: PgQueryable,
  { channel, search }: { readonly channel: string | undefined; readonly search: string | undefined },
  behind: GroupPlace | undefined,
  limit: number,
): Promise<readonly GroupRow[]> {
  const conditions = new Conditions(limit)
  if (channel !== undefined)
    conditions.add(
      holdable(channel),
      parameter =>
        `exists (select from lazaret.dead_letters d where d.group_id = g.id and d.channel = $${parameter})`,
    )
  if (search !== undefined)
    conditions.add(searchable(search), parameter => `position($${parameter}::text in g.search) > 0`)
  if (behind !== undefined) {
    const at = asTime(conditions.values.push(timeParameter(behind.lastSeenAt)))
    conditions.add(behind.id, id => `(t.last_at < ${at} or (t.last_at = ${at} and g.id > $${id}))`)
  }
  const statement = `${groupsWhere(conditions.text)} order by t.last_at desc, g.id limit $1`
  return (await ask(on, 'listing groups', statement, conditions.values)).rows
}

/** The channels that letters of each group come from, most letters first. */
export async function channelsOf(
  on: PgQueryable,
  groups: readonly string[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const { rows } = await ask(
    on,
    'reading the channels of groups',
    `select group_id as "group", channel from lazaret.dead_letters where group_id = any ($1::text[])
     group by group_id, channel order by count(*) desc, channel`,
    [groups],
  )
  const channels = new Map<string, string[]>()
  for (const { group, channel } of rows) {
    const known = channels.get(group)
    if (known === undefined) channels.set(group, [channel])
    else if (known.length < MOST_CHANNELS) known.push(channel)
  }
  return channels
}
