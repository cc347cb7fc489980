// Facets in Lua. A facet is one combination of what filters compare and lists are sorted by, apart from times. A million letters have a few
// thousand of them. The letters of a facet are side by side, so a page of any filter in any order is a merge of some facets, and a count is a sum
// over them. Beside a facet are
//   facets              every facet that has letters, with its fields
//   facet:ID            its letters by the time of their last failure; facet-first:ID by that of their first failure
//   having:FIELD:VALUE  the facets with a value of a field
//   values:FIELD        the values of a field: attempts by number, all others as texts
//   faceted             how many letters the facets have in all

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

local function fieldsOf(facet)
  local packed = redis.call('HGET', root .. ':facets', facet)
  return packed and cmsgpack.unpack(packed)
end

local function addToFacet(id, facts, firstAt)
  local facet = facts.f
  if redis.call('ZADD', lettersOf(facet), facts.at, id) == 1 then redis.call('INCR', root .. ':faceted') end
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

-- Letters were taken from a facet. Without any left it is gone.
local function leaveFacet(facet, fields, taken)
  if taken == 0 then return end
  redis.call('DECRBY', root .. ':faceted', taken)
  if not fields or redis.call('EXISTS', lettersOf(facet)) == 1 then return end
  redis.call('HDEL', root .. ':facets', facet)
  for _, field in ipairs(FIELDS) do
    redis.call('SREM', having(field, fields[field]), facet)
    if redis.call('EXISTS', having(field, fields[field])) == 0 then redis.call('ZREM', valuesOf(field), fields[field]) end
  end
end

local function takeFromFacet(id, facet, fields)
  redis.call('ZREM', firstsOf(facet), id)
  leaveFacet(facet, fields, redis.call('ZREM', lettersOf(facet), id))
end
`
