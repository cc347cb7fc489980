import { listOf, numberOf, textOf } from '../../connection/replies.ts'
import { script } from '../../connection/script.ts'

/** The groups of a stream with the server's information about each; empty if the stream does not exist. */
export const GROUPS = `
local function groups_of(stream)
  local groups = {}
  local found = redis.pcall('XINFO', 'GROUPS', stream)
  for _, info in ipairs(found.err and {} or found) do
    local group = {}
    for at = 1, #info, 2 do group[info[at]] = info[at + 1] end
    groups[#groups + 1] = group
  end
  return groups
end`

/**
 * Up to where every group has finished: an entry before that is of no use to anybody. A group that has yet to read
 * something holds on to it, and so does one that has something open.
 */
const FLOOR = `
local function after(id)
  local time, number = string.match(id, '^(%d+)-(%d+)$')
  number = tonumber(number)
  if number >= 2 ^ 52 then return id end
  return time .. '-' .. string.format('%d', number + 1)
end

-- As texts: an id of somebody else's, of nanoseconds say, is larger than a number here can tell from the next.
local function is_less(digits, others)
  if #digits ~= #others then return #digits < #others end
  return digits < others
end

local function is_before(id, other)
  local time, number = string.match(id, '^(%d+)-(%d+)$')
  local other_time, other_number = string.match(other, '^(%d+)-(%d+)$')
  if time ~= other_time then return is_less(time, other_time) end
  return is_less(number, other_number)
end

local function floor_of(stream)
  local floor
  for _, group in ipairs(groups_of(stream)) do
    local reached = after(group['last-delivered-id'])
    if group.pending > 0 then reached = redis.call('XPENDING', stream, group.name)[2] end
    if not floor or is_before(reached, floor) then floor = reached end
  end
  return floor
end`

/** Adds events to a stream, in the order given, all or none of them. */
export const PUBLISH = script(
  'publishing events',
  numberOf,
  `
for at = 1, #ARGV do redis.call('XADD', KEYS[1], '*', 'event', ARGV[at]) end
return #ARGV`,
)

/** The same for a stream with a limit. Returns the number of events that had room. */
export const PUBLISH_WITHIN = script(
  'publishing events',
  numberOf,
  GROUPS,
  FLOOR,
  `
local most = tonumber(ARGV[1])
local room = most - redis.call('XLEN', KEYS[1])
if room < #ARGV - 1 then
  local floor = floor_of(KEYS[1])
  if floor then redis.call('XTRIM', KEYS[1], 'MINID', floor) end
  room = most - redis.call('XLEN', KEYS[1])
end
local added = math.max(0, math.min(room, #ARGV - 1))
for at = 2, added + 1 do redis.call('XADD', KEYS[1], '*', 'event', ARGV[at]) end
return added`,
)

/** Removes what every group has finished with. Answers how many entries are left. */
export const TRIM = script(
  'trimming a stream',
  numberOf,
  GROUPS,
  FLOOR,
  `
local floor = floor_of(KEYS[1])
if floor then redis.call('XTRIM', KEYS[1], 'MINID', '~', floor) end
return redis.call('XLEN', KEYS[1])`,
)

/**
 * The number of events that a handler has not finished: unread, open, put back, or waiting for their time. A server before
 * version 7 does not count the unread ones, and a newer one does not for every group. Then `unread` is their range:
 * the entries after one id, up to another.
 */
export const DEPTH = script(
  'counting events',
  reply => {
    const [count, after, upTo] = listOf(reply)
    const unread = after === undefined ? undefined : { after: textOf(after), upTo: textOf(upTo) }
    return { count: numberOf(count), unread }
  },
  GROUPS,
  `
local events, own, waiting = unpack(KEYS)
local handler = ARGV[1]
local count = redis.call('XLEN', own) + redis.call('ZCARD', waiting)
for _, group in ipairs(groups_of(events)) do
  if group.name == handler then
    count = count + group.pending
    if group.lag then return {count + group.lag} end
    local last = redis.call('XREVRANGE', events, '+', '-', 'COUNT', 1)
    return last[1] and {count, group['last-delivered-id'], last[1][1]} or {count}
  end
end
return {count + redis.call('XLEN', events)}`,
)

/**
 * Counts a portion of a range, and returns the place where the next portion begins; `after` is undefined if that was all. The
 * server does nothing else meanwhile, and it copies every entry that it counts: so a portion is small in number and in size.
 */
export const COUNT_RANGE = script(
  'counting events',
  reply => {
    const [count, after] = listOf(reply)
    return { count: numberOf(count), after: after === undefined ? undefined : textOf(after) }
  },
  `
local MAX_ENTRIES, MAX_BYTES, PAGE = 1000, 1048576, 10
local after, up_to = unpack(ARGV)
local count, bytes = 0, 0
while count < MAX_ENTRIES and bytes < MAX_BYTES do
  local page = redis.call('XRANGE', KEYS[1], '(' .. after, up_to, 'COUNT', PAGE)
  count = count + #page
  if #page < PAGE then return {count} end
  after = page[#page][1]
  for _, found in ipairs(page) do
    for _, word in ipairs(found[2]) do bytes = bytes + #word end
  end
end
return {count, after}`,
)
