import { LETTER_STATES } from '../../../core/dead-letter/state.ts'

// Versions before facets may share the prefix. They write letters without a facet into an index for each channel, type and state (`by:s:STATE`),
// which nobody else writes. So these indexes have exactly the letters that no facet has yet, and every script that reads facets adds those first.
// Such a version does not take a letter from its facet when it changes or deletes it. Then the facets have more letters than `all`, and scripts
// check some entries each, until the numbers are the same again:
//   facet-check    what is still to be checked: facets, and ALL for the index of all letters; the score is how many entries are done

/** The letters that one script adds to their facets, if an earlier version wrote them. */
const ADDED_AT_ONCE = 100
/** The facets in which one script looks for letters that an earlier version has changed. One letter more may exceed it. */
const LOOKED_AT_ONCE = 2_000
/** The entries that one script checks: a few milliseconds. */
const CHECKED_AT_ONCE = 1_000

export const EARLIER_LETTERS = `
-- A function, because a table made by every script would fill the memory of a full server.
local function earlierIndexes()
  local indexes = {}
  for _, state in ipairs({ ${LETTER_STATES.map(state => `'${state}'`).join(', ')} }) do indexes[#indexes + 1] = by('s', state) end
  return indexes
end

local function facetedCount() return tonumber(redis.call('GET', root .. ':faceted') or 0) end

-- Whether facets have letters that they should not have.
local function hasStrays()
  local expected = redis.call('ZCARD', root .. ':all')
  for _, index in ipairs(earlierIndexes()) do expected = expected - redis.call('ZCARD', index) end
  return facetedCount() > expected
end

-- A letter that an earlier version has changed is still in its facet of before. Channel, handler and type do not change.
local function takeFromStrays(id, facts)
  local facets = redis.call('SINTER', having('c', facts.c), having('h', facts.h), having('t', facts.t))
  for _, facet in ipairs(facets) do
    if redis.call('ZSCORE', lettersOf(facet), id) then takeFromFacet(id, facet, fieldsOf(facet)) end
  end
  return #facets
end

local function takeFromEarlier(id, facts)
  if hasStrays() then takeFromStrays(id, facts) end
  for _, field in ipairs({ 'c', 't', 's' }) do redis.call('ZREM', by(field, facts[field]), id) end
end
`

export const REPAIR = `
local ALL = '-'
local toCheck = root .. ':facet-check'

local function giveFacet(id, facts)
  if not facts.a then
    local isRead, letter = pcall(cjson.decode, redis.call('HGET', keyOf(id), 'b') or '')
    local cycle = isRead and type(letter) == 'table' and letter.cycle
    facts.a = string.format('%.0f', type(cycle) == 'table' and tonumber(cycle.attemptCount) or 0)
  end
  facts.f = facetOf(facts)
  redis.call('HSET', keyOf(id), 'm', cmsgpack.pack(facts))
  addToFacet(id, facts, redis.call('ZSCORE', root .. ':first:' .. facts.g, id) or facts.at)
end

-- True: there are more. The first write frees memory, so a full server accepts the others.
local function addEarlierLetters()
  local indexes = earlierIndexes()
  if redis.call('EXISTS', unpack(indexes)) == 0 then return false end
  local isLooking = hasStrays()
  local added, looked = 0, 0
  for _, index in ipairs(indexes) do
    for _, id in ipairs(redis.call('ZRANGE', index, 0, ${ADDED_AT_ONCE - 1})) do
      redis.call('ZREM', index, id)
      local facts = factsOf(id)
      if facts then
        for _, field in ipairs({ 'c', 't', 's' }) do redis.call('ZREM', by(field, facts[field]), id) end
      end
      if facts and not facts.f then
        if isLooking then looked = looked + takeFromStrays(id, facts) end
        giveFacet(id, facts)
      end
      added = added + 1
      if added == ${ADDED_AT_ONCE} or looked > ${LOOKED_AT_ONCE} then return true end
    end
  end
  return false
end

local function checkInFacet(id, facet)
  local facts = factsOf(id)
  if not facts or facts.f ~= facet then
    takeFromFacet(id, facet, fieldsOf(facet))
    return false
  end
  if not redis.call('ZSCORE', root .. ':all', id) then redis.call('ZADD', root .. ':all', facts.at, id) end
  return true
end

local function checkInAll(id)
  local facts = factsOf(id)
  if not facts then
    unindex(id)
    return false
  end
  if not facts.f or not redis.call('ZSCORE', lettersOf(facts.f), id) then giveFacet(id, facts) end
  return true
end

local function isEven() return facetedCount() == redis.call('ZCARD', root .. ':all') end
local function isChecking() return redis.call('EXISTS', toCheck) == 1 end

local function recount()
  local sum = 0
  for _, facet in ipairs(redis.call('HKEYS', root .. ':facets')) do sum = sum + redis.call('ZCARD', lettersOf(facet)) end
  redis.call('SET', root .. ':faceted', string.format('%.0f', sum))
end

-- A full server does not accept this write. The check waits until there is room.
local function beginCheck()
  if type(redis.pcall('ZADD', toCheck, 0, ALL)) == 'table' then return end
  for _, facet in ipairs(redis.call('HKEYS', root .. ':facets')) do redis.call('ZADD', toCheck, 0, facet) end
end

local function checkSome()
  if isEven() then
    if isChecking() then redis.call('DEL', toCheck) end
    return
  end
  if not isChecking() then beginCheck() end
  local room = ${CHECKED_AT_ONCE}
  while room > 0 do
    local next = redis.call('ZRANGE', toCheck, -1, -1, 'WITHSCORES')
    if not next[1] then return end
    local name, place = next[1], tonumber(next[2])
    -- This write comes first because a full server accepts it, and then all others of the script.
    redis.call('ZREM', toCheck, name)
    local ids = redis.call('ZRANGE', name == ALL and root .. ':all' or lettersOf(name), place, place + room - 1)
    for _, id in ipairs(ids) do
      local isKept
      if name == ALL then isKept = checkInAll(id) else isKept = checkInFacet(id, name) end
      if isKept then place = place + 1 end
    end
    if #ids == room then redis.call('ZADD', toCheck, place, name) end
    room = room - #ids - 1
    if isEven() then redis.call('DEL', toCheck) elseif not isChecking() then recount() end
  end
end

-- True: there are letters without a facet, so facets must not be read yet.
local function repair()
  if addEarlierLetters() then return true end
  checkSome()
  return false
end
`
