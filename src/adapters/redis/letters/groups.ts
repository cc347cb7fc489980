import type { OpenState } from '../../../adapter-kit/open-state.ts'
import {
  applyTriageChange,
  type GroupTriage,
  groupCursor,
  matchesGroup,
  NO_TRIAGE,
  resolveGroupQuery,
} from '../../../adapter-kit/query/group-query.ts'
import { pageOf } from '../../../adapter-kit/query/page.ts'
import { currentTriage, type Grouping } from '../../../core/dead-letter/group.ts'
import type { Category } from '../../../core/failure/failure.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { Group, Groups } from '../../../ports/groups.ts'
import { isOne, listOf, numberOf, pairsOf, textOf } from '../connection/replies.ts'
import { type Script, script } from '../connection/script.ts'
import type { LetterRecords } from './letter-records.ts'
import { LETTERS } from './shared-lua.ts'

const MAX_CHANNELS = 20
const CHANNEL = 'c:'

interface GroupRow {
  readonly id: string
  readonly firstSeenAt: number
  readonly lastSeenAt: number
  readonly fields: ReadonlyMap<string, string>
  /** The stored triage; empty if there is none. */
  readonly said: string
}

const GROUPS = `
local function rowOf(id)
  local last = redis.call('ZSCORE', root .. ':groups', id)
  if not last then return false end
  local first = redis.call('ZRANGE', root .. ':first:' .. id, 0, 0, 'WITHSCORES')
  return { id, first[2], string.format('%.17g', -last), redis.call('HGETALL', root .. ':group:' .. id), redis.call('GET', root .. ':triage:' .. id) or '' }
end
`

function rowOf(reply: unknown): GroupRow {
  const [id, firstSeenAt, lastSeenAt, fields, said] = listOf(reply)
  return {
    id: textOf(id),
    firstSeenAt: numberOf(firstSeenAt),
    lastSeenAt: numberOf(lastSeenAt),
    fields: new Map(pairsOf(fields).map(([field, value]) => [field, textOf(value)] as const)),
    said: textOf(said),
  }
}

/** Reads a number of groups after a position, last seen first. Undefined if due letters must be deleted first. */
const readGroups: Script<readonly GroupRow[] | undefined> = script(
  'listing groups',
  reply => (Array.isArray(reply) ? reply.map(rowOf) : undefined),
  LETTERS,
  GROUPS,
  `
if sweep() then return 0 end
local groups = root .. ':groups'
local start = ARGV[2] == '' and 0 or rankAfter(groups, string.format('%.17g', -ARGV[1]), ARGV[2])
local rows = {}
for _, id in ipairs(redis.call('ZRANGE', groups, start, start + ARGV[3] - 1)) do rows[#rows + 1] = rowOf(id) end
return rows
`,
)

const readGroup: Script<GroupRow | 'none' | undefined> = script(
  'reading a group',
  reply => (Array.isArray(reply) ? rowOf(reply) : reply === null ? 'none' : undefined),
  LETTERS,
  GROUPS,
  `
if sweep() then return 0 end
return rowOf(ARGV[1])
`,
)

/** Writes the triage of a group if it is unchanged since it was read, and if the group has letters. */
const writeTriage: Script<boolean> = script(
  'changing a group',
  isOne,
  LETTERS,
  `
local key = root .. ':triage:' .. ARGV[1]
if not redis.call('ZSCORE', root .. ':groups', ARGV[1]) then return 0 end
if (redis.call('GET', key) or '') ~= ARGV[2] then return 0 end
redis.call('SET', key, ARGV[3])
return 1
`,
)

/** Groups are added up by the scripts that write letters; what people say of them is kept apart, and stays. */
export function redisGroups(records: LetterRecords, clock: Clock, door: OpenState): Groups {
  return {
    async list(query) {
      door.requireOpen()
      const { startAfter, limit, ...filter } = resolveGroupQuery(query)
      const found: Group[] = []
      let place = startAfter === undefined ? ['', ''] : [String(startAfter.lastSeenAt), startAfter.id]
      for (let isMore = true; isMore && found.length <= limit; ) {
        const rows = await records.runAfterExpiry(readGroups, [...place, String(limit + 1)])
        const groups = rows.map(toGroup)
        found.push(...groups.filter(group => matchesGroup(group, filter)))
        const last = groups.at(-1)
        isMore = rows.length > limit && last !== undefined
        if (last !== undefined) place = [String(last.lastSeenAt), last.id]
      }
      const { shown, cursor } = pageOf(found, limit, last => groupCursor(last, filter))
      return { groups: shown, cursor }
    },

    async get(id) {
      door.requireOpen()
      const row = await records.runAfterExpiry(readGroup, [id])
      return row === 'none' ? undefined : toGroup(row)
    },

    async change(id, change) {
      door.requireOpen()
      for (;;) {
        const row = await records.runAfterExpiry(readGroup, [id])
        if (row === 'none') return undefined
        const said = JSON.stringify(applyTriageChange(parseTriage(row.said), change))
        if (await records.run(writeTriage, [id, row.said, said])) return toGroup({ ...row, said })
      }
    },
  }

  function toGroup({ id, lastSeenAt, firstSeenAt, fields, said }: GroupRow): Group {
    const { triage, notes } = parseTriage(said)
    const number = (field: string) => Number(fields.get(field) ?? 0)
    const channels = [...fields]
      .filter(([field]) => field.startsWith(CHANNEL))
      .sort(([, a], [, b]) => Number(b) - Number(a))
      .map(([field]) => field.slice(CHANNEL.length))
    return {
      id,
      title: records.openText(fields.get('title') ?? ''),
      rule: fields.get('rule') as Grouping['rule'],
      basis: records.openText(fields.get('basis') ?? ''),
      category: fields.get('category') as Category,
      channels: channels.slice(0, MAX_CHANNELS),
      count: number('count'),
      waiting: number('waiting'),
      firstSeenAt,
      lastSeenAt,
      replayed: number('replayed'),
      recovered: number('recovered'),
      triage,
      ...currentTriage(triage, lastSeenAt, clock.now()),
      notes,
    }
  }
}

function parseTriage(said: string): GroupTriage {
  return said === '' ? NO_TRIAGE : JSON.parse(said)
}
