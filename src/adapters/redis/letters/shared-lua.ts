import { EXPIRE_ACTION, EXPIRE_TARGET, RETENTION } from '../../../adapter-kit/expiry.ts'
import { SERVER_TIME } from '../connection/script.ts'
import { FACETS, RANKS } from './facet-lua.ts'
import { EARLIER_LETTERS, REPAIR } from './facet-repair-lua.ts'

// What the scripts of dead letters have in common. A letter is a hash of its text (b), the text it is searched by (q), and
// what scripts know of it (m), packed, because a field of its own for each would take more room than the letter. Facts are
// its version (v), how long it is kept once it is decided (l) and before (u), whether an undecided one has an expiry that
// was asked for (x), channel (c), handler (h), type (t), reason (r), category (y), state (s), group (g), attempts (a), facet (f), the
// time of its last failure (at) and whether it was ever replayed (n). Beside it are
//   all            every letter by the time of its last failure
//   by:g:GROUP     the same for the letters of a group
//   facet:…        what is beside facets, see facet-lua and facet-repair-lua
//   expiry         when those are to go that may
//   expired        how many of each state went since the audit was told, and since when
//   counts         how many there are of each state, reason and channel
//   groups         every group by the time it was last seen, below zero: of the same time the lesser id is first
//   group:ID       what its letters add up to; first:ID their beginnings
// All of them change in one script or not at all, and no key of them has an expiry of its own: Redis would take the letter
// and leave what points to it. A letter that is due is taken out by the next script that runs, before it looks at anything,
// and is counted there; one entry of the audit tells of all that went in an hour, or until someone looks.

/** The most due letters that one script deletes. */
const SWEPT_AT_ONCE = 100
/** The longest time that one entry of the audit log covers. */
const RUN_MS = 3_600_000

export const LETTERS = `
${SERVER_TIME}
local root = KEYS[1]
local now = server_time()
local HELD = { dead = true, quarantined = true, parked = true }
local DECIDED = { resolved = true, discarded = true }

local function keyOf(id) return root .. ':letter:' .. id end
local function by(field, value) return root .. ':by:' .. field .. ':' .. value end

local function count(key, field, step)
  if redis.call('HINCRBY', key, field, step) <= 0 then redis.call('HDEL', key, field) end
end

local function factsOf(id)
  local packed = redis.call('HGET', keyOf(id), 'm')
  return packed and cmsgpack.unpack(packed)
end

${RANKS}
${FACETS}
${EARLIER_LETTERS}
-- Calls add(key, field, step) for every count of the letter.
local function countLetter(facts, step, add)
  for _, facet in ipairs({ 's', 'r', 'c' }) do add(root .. ':counts', facet .. ':' .. facts[facet], step) end
  local group = root .. ':group:' .. facts.g
  add(group, 'count', step)
  add(group, 'c:' .. facts.c, step)
  if HELD[facts.s] then add(group, 'waiting', step) end
  if facts.n == '1' then add(group, 'replayed', step) end
  if facts.n == '1' and facts.s == 'resolved' then add(group, 'recovered', step) end
end

local function placeGroup(id)
  local last = redis.call('ZRANGE', by('g', id), -1, -1, 'WITHSCORES')
  if last[2] then
    redis.call('ZADD', root .. ':groups', string.format('%.17g', -last[2]), id)
  else
    redis.call('ZREM', root .. ':groups', id)
    redis.call('DEL', root .. ':group:' .. id)
  end
end

-- The indexes of a letter beside those of its facet. Without its facts only these two are known.
local function indexesOf(facts)
  local indexes = { root .. ':all', root .. ':expiry' }
  if not facts then return indexes end
  indexes[3], indexes[4] = by('g', facts.g), root .. ':first:' .. facts.g
  return indexes
end

local function unindex(id, facts)
  if facts and facts.f then takeFromFacet(id, facts.f, facts) end
  if facts and not facts.f then takeFromEarlier(id, facts) end
  for _, index in ipairs(indexesOf(facts)) do redis.call('ZREM', index, id) end
  if not facts then return end
  countLetter(facts, -1, count)
  placeGroup(facts.g)
end

local function remove(id)
  unindex(id, factsOf(id))
  redis.call('DEL', keyOf(id))
end

-- Earlier versions gave every letter an expiry. An undecided one for which nobody asked for it loses it here, and stays.
local function expire(id)
  local facts = factsOf(id)
  if facts and not DECIDED[facts.s] and facts.x ~= '1' then
    redis.call('ZREM', root .. ':expiry', id)
    return
  end
  remove(id)
  if not facts then return end
  redis.call('HINCRBY', root .. ':expired', facts.s, 1)
  redis.call('HSETNX', root .. ':expired', 'since', string.format('%.0f', now))
end

-- One entry of the audit for what went since the last one. The audit is the stream beside the letters.
local function recordExpired()
  local kept = redis.call('HGETALL', root .. ':expired')
  local byState, letters, counts = {}, 0, {}
  for at = 1, #kept, 2 do
    if kept[at] ~= 'since' then
      byState[kept[at]] = tonumber(kept[at + 1])
      letters = letters + tonumber(kept[at + 1])
      counts[#counts + 1] = kept[at]
      counts[#counts + 1] = kept[at + 1]
    end
  end
  if letters == 0 then return counts end
  local entry = { at = now, by = '${RETENTION}', action = '${EXPIRE_ACTION}', target = '${EXPIRE_TARGET}',
    detail = { letters = letters, byState = byState } }
  redis.call('XADD', string.sub(root, 1, -8) .. 'audit', '*', 'entry', cjson.encode(entry))
  redis.call('DEL', root .. ':expired')
  return counts
end

local function sweep()
  local due = redis.call('ZRANGEBYSCORE', root .. ':expiry', '-inf', now, 'LIMIT', 0, ${SWEPT_AT_ONCE + 1})
  for at = 1, math.min(#due, ${SWEPT_AT_ONCE}) do expire(due[at]) end
  local since = redis.call('HGET', root .. ':expired', 'since')
  if since and tonumber(since) <= now - ${RUN_MS} then recordExpired() end
  return #due > ${SWEPT_AT_ONCE}
end

local function removeIfDue(id)
  local at = redis.call('ZSCORE', root .. ':expiry', id)
  if at and tonumber(at) <= now then expire(id) end
end
`

/** The same for scripts that read facets, and for a cleanup: they repair facets first. Others do without, because the server keeps the text of each script. */
export const READING: string = `${LETTERS}\n${REPAIR}`
