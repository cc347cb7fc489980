import { listOf, numberOf, textOf } from '../connection/replies.ts'
import { type Script, script } from '../connection/script.ts'
import { LETTERS } from './shared-lua.ts'

/** A letter and the time that the list is sorted by. */
export interface Found {
  readonly id: string
  readonly score: string
}

interface FacetPage {
  readonly found: readonly Found[]
  /** How many facets match. */
  readonly facets: number
}

/** The facets that have these fields, from ARGV[from] on: field, value, field, value. Some of them, if there are many. */
export const MATCHING = `
local function matching(from)
  local sets = {}
  for at = from, #ARGV, 2 do sets[#sets + 1] = having(ARGV[at], ARGV[at + 1]) end
  if #sets == 0 then return redis.call('HKEYS', root .. ':facets') end
  return redis.call('SINTER', unpack(sets))
end

local function fieldsOf(facet) return cmsgpack.unpack(redis.call('HGET', root .. ':facets', facet)) end

local function some(facets, start, many)
  if start == 0 and #facets <= many then return facets end
  table.sort(facets)
  local chosen = {}
  for at = start + 1, math.min(#facets, start + many) do chosen[#chosen + 1] = facets[at] end
  return chosen
end
`

/**
 * The first letters of some facets from a place on, by last (`l`) or first (`f`) failure. Every facet has its letters in order, so it is a
 * merge. Undefined: due letters must be deleted first.
 */
export const readPage: Script<FacetPage | undefined> = script(
  'listing dead letters',
  reply => {
    if (!Array.isArray(reply)) return undefined
    const [facets, words] = listOf(reply)
    const found = listOf(words)
    return {
      facets: numberOf(facets),
      found: Array.from({ length: found.length / 2 }, (_, at) => ({
        id: textOf(found[at * 2]),
        score: textOf(found[at * 2 + 1]),
      })),
    }
  },
  LETTERS,
  MATCHING,
  `
if sweep() then return 0 end
local kind, isDown, after, before, score, behind = ARGV[1], ARGV[2] == 'desc', ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local most, start, many, maxSorted = tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9]), tonumber(ARGV[10])
local near = 5 * most
local least, end_ = tonumber(after), tonumber(before)
local fields = (#ARGV - 10) / 2
-- The index of all letters, and that of a group, are in order as a whole.
local whole = kind == 'l' and ((fields == 0 and root .. ':all') or (fields == 1 and ARGV[11] == 'g' and by('g', ARGV[12])))
local all, facets = { '' }, { '' }
local byFirst = kind == 'f'
local hasTimes = least or end_

local function comesFirst(a, b)
  if a.score ~= b.score then
    if isDown then return a.score > b.score end
    return a.score < b.score
  end
  if isDown then return isLess(b.id, a.id) end
  return isLess(a.id, b.id)
end

local function isIn(facet, id)
  if not byFirst or not hasTimes then return true end
  local last = tonumber(redis.call('ZSCORE', lettersOf(facet), id))
  return last and (not least or last >= least) and (not end_ or last < end_)
end

local function startIn(index)
  local from = 0
  if behind ~= '' or score ~= '' then from = isDown and rankBehind(index, score, behind) or rankAfter(index, score, behind) end
  if byFirst then return from end
  if isDown and end_ then return math.max(from, redis.call('ZCOUNT', index, before, '+inf')) end
  if not isDown and least then return math.max(from, redis.call('ZCOUNT', index, '-inf', '(' .. after)) end
  return from
end

-- Reads the next letters of a facet.
local function read(run, size)
  run.found, run.at = {}, 1
  while run.start and #run.found == 0 do
    local words = redis.call(isDown and 'ZREVRANGE' or 'ZRANGE', run.index, run.start, run.start + size - 1, 'WITHSCORES')
    run.start = #words == size * 2 and run.start + size or nil
    size = 16
    for at = 1, #words, 2 do
      local when = tonumber(words[at + 1])
      if not byFirst and ((isDown and least and when < least) or (not isDown and end_ and when >= end_)) then
        run.start = nil
        break
      end
      if isIn(run.facet, words[at]) then run.found[#run.found + 1] = { id = words[at], score = when, text = words[at + 1] } end
    end
  end
  return run.found[1] ~= nil
end

-- The facets in a heap: the one with the first letter of the page is at 1.
local function sink(runs, at)
  local run = runs[at]
  local letter = run.found[run.at]
  while true do
    local child = at * 2
    if child > #runs then break end
    local right = runs[child + 1]
    if right and comesFirst(right.found[right.at], runs[child].found[runs[child].at]) then child = child + 1 end
    if not comesFirst(runs[child].found[runs[child].at], letter) then break end
    runs[at] = runs[child]
    at = child
  end
  runs[at] = run
end

local function merge(runs, into)
  for at = math.floor(#runs / 2), 1, -1 do sink(runs, at) end
  while runs[1] and #into < most do
    local run = runs[1]
    into[#into + 1] = run.found[run.at]
    run.at = run.at + 1
    if not run.found[run.at] and not read(run, 16) then
      runs[1] = runs[#runs]
      runs[#runs] = nil
    end
    if runs[1] then sink(runs, 1) end
  end
end

-- Few letters of some days are all read, because their first failures may be anywhere.
local function readTimes(facet, into)
  local index = lettersOf(facet)
  local low, high = least and after or '-inf', end_ and '(' .. before or '+inf'
  local from = (score ~= '') and { id = behind, score = tonumber(score) }
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', index, low, high)) do
    local text = redis.call('ZSCORE', firstsOf(facet), id)
    local letter = { id = id, score = tonumber(text), text = text }
    if (not from or comesFirst(from, letter)) and not (into.last and comesFirst(into.last, letter)) then into[#into + 1] = letter end
    if #into >= 8 * most then
      table.sort(into, comesFirst)
      for at = most + 1, #into do into[at] = nil end
      into.last = into[most]
    end
  end
end

-- Of a filter that matches many letters, the page is among the next ones by time. False: it is not.
local function readNear(into)
  local index = root .. ':all'
  local from = startIn(index)
  local words = redis.call(isDown and 'ZREVRANGE' or 'ZRANGE', index, from, from + near - 1, 'WITHSCORES')
  for at = 1, #words, 2 do
    local when = tonumber(words[at + 1])
    if (isDown and least and when < least) or (not isDown and end_ and when >= end_) then return true end
    local facts = factsOf(words[at])
    local isWanted = facts
    for field = 11, #ARGV, 2 do isWanted = isWanted and facts[ARGV[field]] == ARGV[field + 1] end
    if isWanted then into[#into + 1] = { id = words[at], score = when, text = words[at + 1] } end
    if #into == most then return true end
    -- At a tenth of the way it is clear whether the rest can be enough.
    if at == 2 * math.floor(near / 10) + 1 and #into * 10 < most then return false end
  end
  return #words < near * 2
end

local page = {}
local inTimes = 0
if kind == 'l' and not whole and start == 0 then
  if readNear(page) then
    local words = {}
    for _, letter in ipairs(page) do
      words[#words + 1] = letter.id
      words[#words + 1] = letter.text
    end
    return { 1, words }
  end
  page = {}
end
if not whole then
  all = matching(11)
  facets = some(all, start, many)
end
if byFirst and hasTimes then
  for _, facet in ipairs(facets) do
    inTimes = inTimes + redis.call('ZCOUNT', lettersOf(facet), least and after or '-inf', end_ and '(' .. before or '+inf')
  end
end
if byFirst and hasTimes and inTimes <= maxSorted then
  for _, facet in ipairs(facets) do readTimes(facet, page) end
  table.sort(page, comesFirst)
else
  local runs = {}
  for _, facet in ipairs(facets) do
    local index = whole or (byFirst and firstsOf(facet) or lettersOf(facet))
    local run = { facet = facet, index = index, start = startIn(index) }
    if read(run, whole and most or 1) then runs[#runs + 1] = run end
  end
  merge(runs, page)
end
local words = {}
for at = 1, math.min(#page, most) do
  words[#words + 1] = page[at].id
  words[#words + 1] = page[at].text
end
return { #all, words }
`,
)

/** The bodies of some letters that contain the text; '' for one that is gone or does not. */
export const readBodies: Script<readonly string[]> = script(
  'reading dead letters',
  reply => listOf(reply).map(textOf),
  LETTERS,
  `
local search, bodies = ARGV[1], {}
for at = 2, #ARGV do
  local letter = redis.call('HMGET', keyOf(ARGV[at]), 'b', 'q')
  local isFound = letter[1] and (search == '' or string.find(letter[2] or '', search, 1, true) ~= nil)
  bodies[#bodies + 1] = isFound and letter[1] or ''
end
return bodies
`,
)

/** The values of a field from a value on, in the order of the list. */
export const readValues: Script<readonly string[] | undefined> = script(
  'listing dead letters',
  reply => (Array.isArray(reply) ? reply.map(textOf) : undefined),
  LETTERS,
  `
if sweep() then return 0 end
local field, isDown, hasStart, start = ARGV[1], ARGV[2] == 'desc', ARGV[3] == '1', ARGV[4]
local index = valuesOf(field)
if not hasStart then return redis.call(isDown and 'ZREVRANGE' or 'ZRANGE', index, 0, -1) end
local score = field == 'a' and start or '0'
local same = redis.call('ZSCORE', index, start)
local from = isDown and rankBehind(index, score, start) or rankAfter(index, score, start)
if same and tonumber(same) == tonumber(score) then from = from - 1 end
return redis.call(isDown and 'ZREVRANGE' or 'ZRANGE', index, from, -1)
`,
)
