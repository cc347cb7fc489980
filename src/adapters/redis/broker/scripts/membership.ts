import { isOne, numberOf } from '../../connection/replies.ts'
import { SERVER_TIME, script } from '../../connection/script.ts'
import { PUT_BACK } from './settling.ts'
import { GROUPS } from './stream.ts'

/** The lists of the attempts that a consumer has begun. Their names begin with its own. */
const LISTS = `
local function lists_of(running, consumer)
  local names = {}
  local begun = {}
  local all = redis.call('HGETALL', running)
  for at = 1, #all, 2 do
    if string.sub(all[at], 1, #consumer + 1) == consumer .. ' ' then
      names[#names + 1] = all[at]
      for mark in string.gmatch(all[at + 1], '[^,]+') do begun[mark] = true end
    end
  end
  return names, begun
end

local function forget_lists(running, consumer)
  for _, name in ipairs((lists_of(running, consumer))) do redis.call('HDEL', running, name) end
end`

/**
 * Registers a handler and one of its consumers. The first handler of a channel gets the earlier events; later handlers
 * get only later ones. A group that was deleted begins again with all remaining entries: a duplicate is better than a
 * loss.
 */
export const ENTER = script(
  'subscribing',
  () => undefined,
  SERVER_TIME,
  GROUPS,
  `
local events, own, handlers, leases, running = unpack(KEYS)
local handler, consumer, lease = unpack(ARGV)
-- A server whose memory is full refuses only a script's first write, and it never refuses this command.
redis.call('HDEL', running, consumer)

local function has_group(stream)
  for _, group in ipairs(groups_of(stream)) do
    if group.name == handler then return true end
  end
end

if not has_group(events) then
  local is_new = redis.call('SISMEMBER', handlers, handler) == 0
  redis.call('XGROUP', 'CREATE', events, handler, is_new and #groups_of(events) > 0 and '$' or '0', 'MKSTREAM')
end
if not has_group(own) then redis.call('XGROUP', 'CREATE', own, handler, '0', 'MKSTREAM') end
redis.call('SADD', handlers, handler)
redis.call('ZADD', leases, server_time() + lease, consumer)`,
)

/** Renews a lease. Returns 0 if others declared the consumer dead. The first write is one that a full server accepts. */
export const HEARTBEAT = script(
  'renewing a lease',
  isOne,
  SERVER_TIME,
  `
local leases = KEYS[1]
local consumer, lease = unpack(ARGV)
if tonumber(redis.call('ZSCORE', leases, consumer) or 0) == 0 then return 0 end
redis.call('ZREM', leases, '')
redis.call('ZADD', leases, server_time() + lease, consumer)
return 1`,
)

/**
 * Ends a lease. A consumer that still has something keeps its place among the leases, as one that is over: the next
 * consumer that looks takes over its entries. Never is a consumer removed that has something: that would lose it.
 */
export const RESIGN = script(
  'resigning',
  () => undefined,
  LISTS,
  `
local events, own, leases, running = unpack(KEYS)
local handler, consumer = unpack(ARGV)
local pending = 0
for _, stream in ipairs({events, own}) do
  local found = redis.pcall('XPENDING', stream, handler, '-', '+', 1, consumer)
  if not found.err then pending = pending + #found end
end
redis.call('ZREM', leases, consumer)
if pending > 0 then
  redis.call('ZADD', leases, 0, consumer)
else
  forget_lists(running, consumer)
  for _, stream in ipairs({events, own}) do redis.pcall('XGROUP', 'DELCONSUMER', stream, handler, consumer) end
end`,
)

/**
 * Records the attempts that a consumer begins as one list, removes lists without a running attempt, and keeps a record of
 * entries with earlier attempts. Returns 0 if others declared the consumer dead: then they have its events.
 */
export const BEGIN = script(
  'recording attempts',
  isOne,
  `
local leases, running, notes = unpack(KEYS)
local consumer, list, begun, over = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
if tonumber(redis.call('ZSCORE', leases, consumer) or 0) == 0 then return 0 end
redis.call('HDEL', running, list)
for at = 5, 4 + over do redis.call('HDEL', running, ARGV[at]) end
redis.call('HSET', running, list, begun)
for at = 5 + over, #ARGV, 2 do redis.call('HSET', notes, ARGV[at], ARGV[at + 1]) end
return 1`,
)

/**
 * Takes over the entries of dead consumers: those whose lease is over, if this consumer can tell, and those without a
 * lease, after their entries were idle for the time of a lease. An attempt that had begun counts. Returns the number of
 * entries.
 */
export const RECLAIM = script(
  'looking for dead consumers',
  numberOf,
  SERVER_TIME,
  LISTS,
  PUT_BACK,
  `
local events, own, waiting, notes, leases, running = unpack(KEYS)
local streams = {events = events, own = own}
local handler, consumer, lease, limit = ARGV[1], ARGV[2], ARGV[4], tonumber(ARGV[5])
local now = server_time()
-- The caller may have been steady when it asked. If the server stood still since, its own lease shows that.
local own_lease = tonumber(redis.call('ZSCORE', leases, consumer) or 0)
local is_steady = ARGV[3] == '1' and own_lease - now > lease / 2
local moved = 0
check_places(own, waiting)

local function bring_back(side, pending, begun)
  local stream = streams[side]
  for _, found in ipairs(pending) do
    local id = found[1]
    local mark = side .. ' ' .. id
    local fields = entry(stream, id)
    local words
    if fields then
      local log = redis.call('HGET', notes, mark) or log_of(fields, id)
      words = with_log(fields, begun[mark] and one_more_begun(log) or log)
    end
    redis.call('XACK', stream, handler, id)
    if side == 'own' then redis.call('XDEL', own, id) end
    redis.call('HDEL', notes, mark)
    if words then put(words, own, waiting, now, 0) end
    moved = moved + 1
  end
end

local over = redis.call('ZRANGEBYSCORE', leases, '-inf', is_steady and now or 0)
for _, consumer in ipairs(over) do
  local _, begun = lists_of(running, consumer)
  for side, stream in pairs(streams) do
    if moved < limit then
      bring_back(side, redis.call('XPENDING', stream, handler, '-', '+', limit - moved, consumer), begun)
    end
  end
  if moved < limit then
    redis.call('ZREM', leases, consumer)
    forget_lists(running, consumer)
    for _, stream in pairs(streams) do redis.call('XGROUP', 'DELCONSUMER', stream, handler, consumer) end
  else
    -- The rest is brought back by the next step. Until then it must not come to life: it has lost some already.
    redis.call('ZADD', leases, 0, consumer)
    break
  end
end
for side, stream in pairs(streams) do
  for _, info in ipairs(redis.call('XINFO', 'CONSUMERS', stream, handler)) do
    local consumer, pending, idle = info[2], info[4], info[6]
    if moved < limit and not redis.call('ZSCORE', leases, consumer) then
      if pending > 0 then
        bring_back(side, redis.call('XPENDING', stream, handler, 'IDLE', lease, '-', '+', limit - moved, consumer), {})
      elseif idle > tonumber(lease) then
        redis.call('XGROUP', 'DELCONSUMER', stream, handler, consumer)
      end
    end
  end
end
return moved`,
)
