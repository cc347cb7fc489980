import { listOf, numberOf, textOf } from '../connection/replies.ts'
import { type Script, script } from '../connection/script.ts'
import { LETTERS, READING } from './shared-lua.ts'

/** A letter and the time that the list is sorted by. */
export interface Found {
  readonly id: string
  readonly score: string
}

/** Reads id, score, id, score. */
export function foundIn(reply: unknown): readonly Found[] {
  const words = listOf(reply)
  return Array.from({ length: words.length / 2 }, (_, at) => ({
    id: textOf(words[at * 2]),
    score: textOf(words[at * 2 + 1]),
  }))
}

interface FacetPage {
  readonly found: readonly Found[]
  /** How many facets match. */
  readonly facets: number
  /** The last of the values that was read. Those before it have no letters after these. */
  readonly value: number
}

/**
 * The facets that have these fields, from ARGV[from] on: field, value, field, value, and perhaps one more. Some of them, if there are many.
 */
export const MATCHING = `
local function matching(from, field, value)
  local sets = {}
  if field then sets[1] = having(field, value) end
  for at = from, #ARGV, 2 do sets[#sets + 1] = having(ARGV[at], ARGV[at + 1]) end
  if #sets == 0 then return redis.call('HKEYS', root .. ':facets') end
  return redis.call('SINTER', unpack(sets))
end

local function some(facets, start, many)
  if start == 0 and #facets <= many then return facets end
  table.sort(facets)
  local chosen = {}
  for at = start + 1, math.min(#facets, start + many) do chosen[#chosen + 1] = facets[at] end
  return chosen
end
`

/** With so many facets, the page is first looked for among the next letters by time. */
const MANY_FACETS = 50
/** The scores of one command. Lua has room for a few thousand arguments. */
const SCORES_AT_ONCE = 1_000

/**
 * The first letters of some facets from a place on, by last (`l`) or first (`f`) failure. Every facet has its letters in order, so it is a
 * merge. Of a list by a field, several values of the field are read one after another, and the place is in the first of them. A value with
 * many facets is read by itself. Undefined: due letters must be deleted first.
 */
export const readPage: Script<FacetPage | undefined> = script(
  'listing dead letters',
  reply => {
    if (!Array.isArray(reply)) return undefined
    const [facets, value, words] = listOf(reply)
    return { facets: numberOf(facets), value: numberOf(value), found: foundIn(words) }
  },
  READING,
  MATCHING,
  `
if repair() or sweep() then return 0 end
local kind, isDown, after, before, score, behind = ARGV[1], ARGV[2] == 'desc', ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local most, start, many, maxSorted = tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9]), tonumber(ARGV[10])
local sorted, values = ARGV[11], tonumber(ARGV[12])
local filter = 13 + values
local near = 5 * most
local least, end_ = tonumber(after), tonumber(before)
local byFirst = kind == 'f'
local hasTimes = least or end_
-- The page, and what differs from value to value.
local page = {}
local whole, value

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

local function merge(runs)
  for at = math.floor(#runs / 2), 1, -1 do sink(runs, at) end
  while runs[1] and #page < most do
    local run = runs[1]
    page[#page + 1] = run.found[run.at]
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
  local low, high = least and after or '-inf', end_ and '(' .. before or '+inf'
  local from = (score ~= '') and { id = behind, score = tonumber(score) }
  local ids = redis.call('ZRANGEBYSCORE', lettersOf(facet), low, high)
  for first = 1, #ids, ${SCORES_AT_ONCE} do
    local texts = redis.call('ZMSCORE', firstsOf(facet), unpack(ids, first, math.min(#ids, first + ${SCORES_AT_ONCE - 1})))
    for at, text in ipairs(texts) do
      local when = tonumber(text)
      local last = into.last
      -- Most letters come after the page, so the first look at them is cheap.
      if when and (not last or (isDown and when >= last.score) or (not isDown and when <= last.score)) then
        local letter = { id = ids[first + at - 1], score = when, text = text }
        if (not from or comesFirst(from, letter)) and not (last and comesFirst(last, letter)) then into[#into + 1] = letter end
      end
      if #into >= 8 * most then
        table.sort(into, comesFirst)
        for extra = most + 1, #into do into[extra] = nil end
        into.last = into[most]
      end
    end
  end
end

local function isWanted(facts)
  if not facts or (sorted ~= '' and facts[sorted] ~= value) then return false end
  for at = filter, #ARGV, 2 do
    if facts[ARGV[at]] ~= ARGV[at + 1] then return false end
  end
  return true
end

-- Of a filter that matches many letters, the page is among the next ones by time. False: it is not.
local function readNear()
  local index, known = root .. ':all', #page
  local from = startIn(index)
  local words = redis.call(isDown and 'ZREVRANGE' or 'ZRANGE', index, from, from + near - 1, 'WITHSCORES')
  local function stop()
    for at = #page, known + 1, -1 do page[at] = nil end
    return false
  end
  for at = 1, #words, 2 do
    local when = tonumber(words[at + 1])
    if (isDown and least and when < least) or (not isDown and end_ and when >= end_) then return true end
    if isWanted(factsOf(words[at])) then page[#page + 1] = { id = words[at], score = when, text = words[at + 1] } end
    if #page == most then return true end
    -- At a tenth of the way it is clear whether the rest can be enough.
    if at == 2 * math.floor(near / 10) + 1 and (#page - known) * 10 < most - known then return stop() end
  end
  return #words < near * 2 or stop()
end

local function readFacets(facets)
  local inTimes = 0
  if byFirst and hasTimes then
    for _, facet in ipairs(facets) do
      inTimes = inTimes + redis.call('ZCOUNT', lettersOf(facet), least and after or '-inf', end_ and '(' .. before or '+inf')
    end
  end
  if byFirst and hasTimes and inTimes <= maxSorted then
    for _, facet in ipairs(facets) do readTimes(facet, page) end
    table.sort(page, comesFirst)
    return
  end
  local runs = {}
  for _, facet in ipairs(facets) do
    local index = whole or (byFirst and firstsOf(facet) or lettersOf(facet))
    local run = { facet = facet, index = index, start = startIn(index) }
    if read(run, whole and most or 1) then runs[#runs + 1] = run end
  end
  merge(runs)
end

local matched, looked, last = 1, 0, 0
for at = 1, math.max(values, 1) do
  value = ARGV[12 + at]
  -- The index of all letters, and that of a group, are in order as a whole.
  whole = nil
  if kind == 'l' and filter > #ARGV then
    if values == 0 then whole = root .. ':all' elseif sorted == 'g' then whole = by('g', value) end
  elseif kind == 'l' and values == 0 and #ARGV == filter + 1 and ARGV[filter] == 'g' then
    whole = by('g', ARGV[filter + 1])
  end
  local facets = { '' }
  if not whole then
    if values == 0 then facets = matching(filter) else facets = matching(filter, sorted, value) end
  end
  looked = looked + #facets + 1
  if at > 1 and looked > many then break end
  last = at - 1
  local isNear = kind == 'l' and start == 0 and #facets > ${MANY_FACETS} and readNear()
  if not isNear then
    matched = #facets
    readFacets(whole and facets or some(facets, start, many))
  end
  if #page >= most or matched > many then break end
  score, behind = '', ''
end
local words = {}
for at = 1, math.min(#page, most) do
  words[#words + 1] = page[at].id
  words[#words + 1] = page[at].text
end
return { matched, last, words }
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
  READING,
  `
if repair() or sweep() then return 0 end
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
