import { isOne, listOf, numberOf, pairsOf, textOf } from '../connection/replies.ts'
import { type Script, script } from '../connection/script.ts'
import { LETTERS, PLACES } from './shared-lua.ts'

export interface GroupRow {
  readonly id: string
  readonly firstSeenAt: number
  readonly lastSeenAt: number
  readonly fields: ReadonlyMap<string, string>
  /** What people said of it, as it is kept; '' while nobody has. */
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

/** So many behind a place, last seen first. Undefined: there is more to sweep first. */
export const readGroups: Script<readonly GroupRow[] | undefined> = script(
  'listing groups',
  reply => (Array.isArray(reply) ? reply.map(rowOf) : undefined),
  LETTERS,
  PLACES,
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

export const readGroup: Script<GroupRow | 'none' | undefined> = script(
  'reading a group',
  reply => (Array.isArray(reply) ? rowOf(reply) : reply === null ? 'none' : undefined),
  LETTERS,
  GROUPS,
  `
if sweep() then return 0 end
return rowOf(ARGV[1])
`,
)

/** Writes what people say of a group if it is still what was read, and if the group has letters. */
export const writeTriage: Script<boolean> = script(
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
