import { numberOf } from '../../connection/replies.ts'
import { script } from '../../connection/script.ts'

/** Ends entries that are the handler's own, or that there are notes of. The others are acknowledged without a script. */
export const FINISH = script(
  'settling events',
  () => undefined,
  `
local events, own, notes = unpack(KEYS)
local streams = {events = events, own = own}
for at = 2, #ARGV, 2 do
  local side, id = ARGV[at], ARGV[at + 1]
  redis.call('XACK', streams[side], ARGV[1], id)
  if side == 'own' then redis.call('XDEL', own, id) end
  redis.call('HDEL', notes, side .. ' ' .. id)
end`,
)

/**
 * Up to where every group has finished: an entry before that is of no use to anybody. A group that has yet to read
 * something holds on to it, and so does one that has something open.
 */
export const FLOOR = `
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
  local groups = redis.pcall('XINFO', 'GROUPS', stream)
  if groups.err then return nil end
  for _, info in ipairs(groups) do
    local group = {}
    for at = 1, #info, 2 do group[info[at]] = info[at + 1] end
    local reached = after(group['last-delivered-id'])
    if group.pending > 0 then reached = redis.call('XPENDING', stream, group.name)[2] end
    if not floor or is_before(reached, floor) then floor = reached end
  end
  return floor
end`

/** Removes what every group has finished with. Answers how many entries are left. */
export const TRIM = script(
  'trimming a stream',
  numberOf,
  FLOOR,
  `
local floor = floor_of(KEYS[1])
if floor then redis.call('XTRIM', KEYS[1], 'MINID', '~', floor) end
return redis.call('XLEN', KEYS[1])`,
)
