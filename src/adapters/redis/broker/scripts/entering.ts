import { numberOf } from '../../connection/replies.ts'
import { script } from '../../connection/script.ts'
import { LISTS } from './beginning.ts'
import { NOW } from './shared.ts'

/**
 * Makes a handler known, and a consumer of it. The first handler of a channel gets what was published before it; those
 * that come later get what comes later. A group that somebody has destroyed begins anew with all that is still there:
 * better twice than never.
 */
export const ENTER = script(
  'subscribing',
  () => undefined,
  NOW,
  `
local events, own, handlers, leases, running = unpack(KEYS)
local handler, consumer, lease = unpack(ARGV)
-- A server whose memory is full refuses a script's first write only, and this one is none to refuse.
redis.call('HDEL', running, consumer)

local function groups(stream)
  local found = redis.pcall('XINFO', 'GROUPS', stream)
  local names = {}
  local count = 0
  if not found.err then
    for _, group in ipairs(found) do
      names[group[2]] = true
      count = count + 1
    end
  end
  return names, count
end

local names, count = groups(events)
if not names[handler] then
  local is_new = redis.call('SISMEMBER', handlers, handler) == 0
  redis.call('XGROUP', 'CREATE', events, handler, is_new and count > 0 and '$' or '0', 'MKSTREAM')
end
if not groups(own)[handler] then redis.call('XGROUP', 'CREATE', own, handler, '0', 'MKSTREAM') end
redis.call('SADD', handlers, handler)
redis.call('ZADD', leases, clock() + lease, consumer)`,
)

/** Renews a lease. 0 when the consumer was taken for dead meanwhile. The first write is one that a full server takes. */
export const BEAT = script(
  'renewing a lease',
  numberOf,
  NOW,
  `
local leases = KEYS[1]
local consumer, lease = unpack(ARGV)
if tonumber(redis.call('ZSCORE', leases, consumer) or 0) == 0 then return 0 end
redis.call('ZREM', leases, '')
redis.call('ZADD', leases, clock() + lease, consumer)
return 1`,
)

/**
 * Ends a lease. A consumer that still has something keeps its place among the leases, as one that is over: whoever looks
 * next brings back what it has. Never is a consumer removed that has something: that would lose it.
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
