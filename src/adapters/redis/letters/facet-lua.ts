// Facets in Lua. A facet is one combination of what filters compare and lists are sorted by, apart from times. A million letters have a few
// thousand of them. The letters of a facet are side by side, so a page of any filter in any order is a merge of some facets, and a count is a sum
// over them. Beside a facet are
//   facets              every facet that has letters, with its fields
//   facet:ID            its letters by the time of their last failure; facet-first:ID by that of their first failure
//   having:FIELD:VALUE  the facets with a value of a field
//   values:FIELD        the values of a field: attempts by number, all others as texts

/** The start of a page, counted from the end of an index (`rankBehind`), or from its beginning (`rankAfter`). */
export const RANKS = `
local function isLess(a, b)
  for at = 1, math.min(#a, #b) do
    local x, y = string.byte(a, at), string.byte(b, at)
    if x ~= y then return x < y end
  end
  return #a < #b
end

local function rankBehind(index, score, member)
  local known = redis.call('ZSCORE', index, member)
  if known and tonumber(known) == tonumber(score) then return redis.call('ZREVRANK', index, member) + 1 end
  local from = redis.call('ZCOUNT', index, '(' .. score, '+inf')
  local to = redis.call('ZCOUNT', index, score, '+inf')
  while from < to do
    local middle = math.floor((from + to) / 2)
    if isLess(redis.call('ZREVRANGE', index, middle, middle)[1], member) then to = middle else from = middle + 1 end
  end
  return from
end

local function rankAfter(index, score, member)
  local known = redis.call('ZSCORE', index, member)
  if known and tonumber(known) == tonumber(score) then return redis.call('ZRANK', index, member) + 1 end
  local from = redis.call('ZCOUNT', index, '-inf', '(' .. score)
  local to = redis.call('ZCOUNT', index, '-inf', score)
  while from < to do
    local middle = math.floor((from + to) / 2)
    if isLess(member, redis.call('ZRANGE', index, middle, middle)[1]) then to = middle else from = middle + 1 end
  end
  return from
end
`

/** The letters that one script adds to their facets, if an earlier version wrote them. */
const ADDED_AT_ONCE = 100

export const FACETS = `
local FIELDS = { 'c', 'h', 't', 'r', 'y', 's', 'g', 'a' }

local function lettersOf(facet) return root .. ':facet:' .. facet end
local function firstsOf(facet) return root .. ':facet-first:' .. facet end
local function having(field, value) return root .. ':having:' .. field .. ':' .. value end
local function valuesOf(field) return root .. ':values:' .. field end

local function facetOf(facts)
  local values = {}
  for at, field in ipairs(FIELDS) do values[at] = facts[field] end
  return string.sub(redis.sha1hex(cmsgpack.pack(values)), 1, 20)
end

local function addToFacet(id, facts, firstAt)
  local facet = facts.f
  redis.call('ZADD', lettersOf(facet), facts.at, id)
  redis.call('ZADD', firstsOf(facet), firstAt, id)
  if redis.call('HEXISTS', root .. ':facets', facet) == 1 then return end
  local fields = {}
  for _, field in ipairs(FIELDS) do
    fields[field] = facts[field]
    redis.call('SADD', having(field, facts[field]), facet)
    redis.call('ZADD', valuesOf(field), field == 'a' and facts.a or 0, facts[field])
  end
  redis.call('HSET', root .. ':facets', facet, cmsgpack.pack(fields))
end

local function takeFromFacet(id, facts)
  local facet = facts.f
  if not facet then return end
  redis.call('ZREM', firstsOf(facet), id)
  if redis.call('ZREM', lettersOf(facet), id) == 0 or redis.call('EXISTS', lettersOf(facet)) == 1 then return end
  redis.call('HDEL', root .. ':facets', facet)
  for _, field in ipairs(FIELDS) do
    redis.call('SREM', having(field, facts[field]), facet)
    if redis.call('EXISTS', having(field, facts[field])) == 0 then redis.call('ZREM', valuesOf(field), facts[field]) end
  end
end

local function addOldLetter(id)
  local facts = factsOf(id)
  if not facts or facts.f then return end
  local isRead, letter = pcall(cjson.decode, redis.call('HGET', keyOf(id), 'b') or '')
  local cycle = isRead and type(letter) == 'table' and letter.cycle
  facts.a = string.format('%.0f', type(cycle) == 'table' and tonumber(cycle.attemptCount) or 0)
  facts.f = facetOf(facts)
  redis.call('HSET', keyOf(id), 'm', cmsgpack.pack(facts))
  addToFacet(id, facts, redis.call('ZSCORE', root .. ':first:' .. facts.g, id) or facts.at)
end

-- Earlier versions had no facets, and an index for each channel, type and state. Their letters are added a few at a time, before
-- anything is listed or counted. True: there are more.
local function addOldLetters()
  if redis.call('EXISTS', root .. ':faceted') == 1 then return false end
  local place = redis.call('HMGET', root .. ':faceting', 'at', 'id')
  local start = place[2] and rankAfter(root .. ':all', place[1], place[2]) or 0
  local found = redis.call('ZRANGE', root .. ':all', start, start + ${ADDED_AT_ONCE - 1}, 'WITHSCORES')
  -- A full server refuses the first write of a script and none after it, so a script that may save a letter must not begin with one of these.
  if #found == 0 and not place[2] then return false end
  for at = 1, #found, 2 do addOldLetter(found[at]) end
  if #found > 0 then
    redis.call('HSET', root .. ':faceting', 'at', found[#found], 'id', found[#found - 1])
    if #found == ${2 * ADDED_AT_ONCE} then return true end
  end
  redis.call('SET', root .. ':faceted', '1')
  for _, field in ipairs({ 'c', 't', 's' }) do
    for _, value in ipairs(redis.call('ZRANGE', valuesOf(field), 0, -1)) do redis.call('UNLINK', by(field, value)) end
  end
  redis.call('DEL', root .. ':faceting')
  return false
end
`
