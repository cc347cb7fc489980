import type { LetterCounts } from '../../../ports/dead-letters.ts'
import { infoField, isOne, listOf, numberOf, pairsOf, textOf } from '../connection/replies.ts'
import { type Script, script } from '../connection/script.ts'
import { LETTERS, READING } from './shared-lua.ts'

/** A letter as it is kept. Its version changes with every write, and no two writes of a store have the same one. */
interface StoredLetter {
  readonly version: string
  readonly body: string
}

export type Saved = { readonly is: 'saved' | 'full' | 'gone' } | ({ readonly is: 'known' } & StoredLetter)

/**
 * Writes a letter with all its index entries, if the stored version is the one that it was made from ('' if there must be
 * none). A letter keeps its retention unless another is given. The time starts again with every write.
 */
export const save: Script<Saved> = script(
  'saving a dead letter',
  reply => {
    const [is, version, body] = listOf(reply).map(textOf)
    return is === 'known' ? { is, version: version!, body: body! } : { is: is as 'saved' | 'full' | 'gone' }
  },
  LETTERS,
  `
local id, expected, body, most, decidedLife, undecidedLife, expiresAt = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7]
local channel, handler, kind, reason, category, state, group = ARGV[8], ARGV[9], ARGV[10], ARGV[11], ARGV[12], ARGV[13], ARGV[14]
local at, firstAt, replayed, search, title, rule, basis, attempts = ARGV[15], ARGV[16], ARGV[17], ARGV[18], ARGV[19], ARGV[20], ARGV[21], ARGV[22]
sweep()
removeIfDue(id)
local key = keyOf(id)
local known = factsOf(id)
if (known and known.v or '') ~= expected then
  if not known then return { 'gone' } end
  return { 'known', known.v, redis.call('HGET', key, 'b') }
end
if expected == '' and redis.call('ZCARD', root .. ':all') >= tonumber(most) then return { 'full' } end
if known then unindex(id, known) end
if decidedLife == 'keep' then decidedLife, undecidedLife = known.l, known.u or '' end

-- A replaying letter never goes: its outcome has to find it.
local goesAt = nil
if state ~= 'replaying' then
  local life = DECIDED[state] and decidedLife or undecidedLife
  local said = tonumber(expiresAt)
  -- A letter that is past its retention when it arrives was imported on purpose: it is not deleted on arrival.
  if said and said <= now then said = nil end
  -- The expiry of the letter itself counts before that of all undecided letters.
  if not DECIDED[state] and (said or expiresAt == 'never') then life = '' end
  goesAt = life ~= '' and now + tonumber(life) or nil
  if said and (not goesAt or said < goesAt) then goesAt = said end
end

local version = string.format('%.0f', redis.call('INCR', root .. ':version'))
local facts = { v = version, l = decidedLife, u = undecidedLife, x = goesAt and '1' or '', c = channel, h = handler, t = kind, r = reason, y = category, s = state, g = group,
  at = at, n = replayed, a = attempts }
facts.f = facetOf(facts)
redis.call('HSET', key, 'b', body, 'q', search, 'm', cmsgpack.pack(facts))
redis.call('ZADD', root .. ':all', at, id)
redis.call('ZADD', by('g', group), at, id)
redis.call('ZADD', root .. ':first:' .. group, firstAt, id)
addToFacet(id, facts, firstAt)
local info = root .. ':group:' .. group
if redis.call('HEXISTS', info, 'title') == 0 then
  redis.call('HSET', info, 'title', title, 'rule', rule, 'basis', basis, 'category', category)
end
countLetter(facts, 1, count)
placeGroup(group)
if goesAt then redis.call('ZADD', root .. ':expiry', goesAt, id) end
return { 'saved' }
`,
)

export const read: Script<StoredLetter | undefined> = script(
  'reading a dead letter',
  reply => {
    const [version, body] = listOf(reply)
    return version === undefined ? undefined : { version: textOf(version), body: textOf(body) }
  },
  LETTERS,
  `
removeIfDue(ARGV[1])
local facts = factsOf(ARGV[1])
return facts and { facts.v, redis.call('HGET', keyOf(ARGV[1]), 'b') } or {}
`,
)

/** Deletes it if it is as it was seen: of this state and this last failure; '' is whatever it is. */
export const deleteSeen: Script<boolean> = script(
  'deleting a dead letter',
  isOne,
  LETTERS,
  `
local id, state, at = ARGV[1], ARGV[2], ARGV[3]
sweep()
removeIfDue(id)
local known = factsOf(id)
if not known then return 0 end
if state ~= '' and (known.s ~= state or tonumber(known.at) ~= tonumber(at)) then return 0 end
remove(id)
return 1
`,
)

/**
 * The same for many letters, each with its state and its last failure; returns the ids of those that it deleted. The ids of an
 * index are taken from it together, and a count changes once: the commands take most of the time of a purge.
 */
export const deleteAllSeen: Script<readonly string[]> = script(
  'deleting dead letters',
  reply => listOf(reply).map(textOf),
  LETTERS,
  `
sweep()
local gone, groups, fields, idsOf, counts = {}, {}, {}, {}, {}
local function note(index, id)
  local ids = idsOf[index] or {}
  idsOf[index] = ids
  ids[#ids + 1] = id
end
local function noteCount(key, field, step)
  local of = counts[key] or {}
  counts[key] = of
  of[field] = (of[field] or 0) + step
end
local function take(index)
  local ids, taken = idsOf[index] or {}, 0
  for from = 1, #ids, 1000 do
    taken = taken + redis.call('ZREM', index, unpack(ids, from, math.min(#ids, from + 999)))
  end
  idsOf[index] = nil
  return taken
end

for at = 1, #ARGV, 3 do
  local id = ARGV[at]
  removeIfDue(id)
  local known = factsOf(id)
  if known and known.s == ARGV[at + 1] and tonumber(known.at) == tonumber(ARGV[at + 2]) then
    redis.call('DEL', keyOf(id))
    gone[#gone + 1] = id
    if known.f then
      fields[known.f] = known
      groups[known.g] = true
      note(lettersOf(known.f), id)
      note(firstsOf(known.f), id)
      for _, index in ipairs(indexesOf(known)) do note(index, id) end
      countLetter(known, -1, noteCount)
    else
      unindex(id, known)
    end
  end
end
for facet, known in pairs(fields) do leaveFacet(facet, known, take(lettersOf(facet))) end
for index in pairs(idsOf) do take(index) end
for key, of in pairs(counts) do
  for field, step in pairs(of) do count(key, field, step) end
end
for group in pairs(groups) do placeGroup(group) end
return gone
`,
)

/** Deletes letters that are due, and repairs facets; true when there is more to do. */
export const removeDue: Script<boolean> = script(
  'deleting expired dead letters',
  isOne,
  READING,
  'return (sweep() or repair() or isChecking()) and 1 or 0',
)

/** Writes to the audit log how many letters of each state were deleted since the last entry, and returns the same. */
export const recordExpired: Script<LetterCounts> = script(
  'recording expired dead letters in the audit log',
  reply => Object.fromEntries(pairsOf(reply).map(([state, count]) => [state, numberOf(count)])),
  LETTERS,
  'return recordExpired()',
)

/**
 * Returns the oldest time, the newest, then fields and their counts; empty without letters. Undefined if due letters must
 * be deleted first.
 */
export const totals: Script<readonly unknown[] | undefined> = script(
  'counting dead letters',
  reply => (Array.isArray(reply) ? reply : undefined),
  LETTERS,
  `
if sweep() then return 0 end
local all = root .. ':all'
local oldest, newest = redis.call('ZRANGE', all, 0, 0, 'WITHSCORES'), redis.call('ZRANGE', all, -1, -1, 'WITHSCORES')
if not oldest[2] then return {} end
local found = { oldest[2], newest[2] }
for _, word in ipairs(redis.call('HGETALL', root .. ':counts')) do found[#found + 1] = word end
return found
`,
)

/** Counts the letters of one index by the time of their failure. Undefined if due letters must be deleted first. */
export const countIntervals: Script<readonly number[] | undefined> = script(
  'counting dead letters by time',
  reply => (Array.isArray(reply) ? reply.map(numberOf) : undefined),
  LETTERS,
  `
if sweep() then return 0 end
local index = ARGV[1] == '' and root .. ':all' or by(ARGV[1], ARGV[2])
local counts = {}
for at = 3, #ARGV, 2 do
  counts[#counts + 1] = redis.call('ZCOUNT', index, ARGV[at], '(' .. ARGV[at + 1])
end
return counts
`,
)

/** The memory that letters use on the server. */
export interface RedisUsage {
  /** The memory of letters and their indexes, measured on a sample and extrapolated. */
  readonly letterBytes: number
  /** The memory that the server uses in all. */
  readonly usedBytes: number
  /** The memory limit of the server; undefined if the memory of the machine is the limit. */
  readonly maxBytes: number | undefined
  /** The policy of the server when its memory is full. Every policy except `noeviction` loses letters. */
  readonly evictionPolicy: string
}

/** Samples some of the newest and some of the oldest letters. Redis itself samples the large keys. */
export const measure: Script<RedisUsage> = script(
  'measuring dead letters',
  reply => {
    const [letterBytes, info] = listOf(reply)
    const said = (name: string) => infoField(textOf(info), name) ?? ''
    const max = numberOf(said('maxmemory'))
    return {
      letterBytes: Math.round(numberOf(letterBytes)),
      usedBytes: numberOf(said('used_memory')),
      maxBytes: max === 0 ? undefined : max,
      evictionPolicy: said('maxmemory_policy'),
    }
  },
  LETTERS,
  `
local all = root .. ':all'
local letters = redis.call('ZCARD', all)
local info = redis.call('INFO', 'memory')
if letters == 0 then return { '0', info } end
local bytes, measured, pointing = 0, 0, 0
for _, slice in ipairs({ redis.call('ZRANGE', all, 0, 24), redis.call('ZREVRANGE', all, 0, 24) }) do
  for _, id in ipairs(slice) do
    bytes = bytes + (redis.call('MEMORY', 'USAGE', keyOf(id), 'SAMPLES', 0) or 0)
    measured = measured + 1
  end
end
pointing = redis.call('MEMORY', 'USAGE', all) / letters
-- By group and the beginning of it, by facet and the beginning of it.
local total = letters * (bytes / measured + pointing * 5)
return { string.format('%.0f', total), info }
`,
)
