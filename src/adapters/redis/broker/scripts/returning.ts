import { listOf, numberOf } from '../../connection/replies.ts'
import { script } from '../../connection/script.ts'
import { LISTS } from './beginning.ts'
import { NOW, PUT_BACK } from './shared.ts'

/** What became of an entry that was to be put back: `absent` is one that somebody has deleted while it was open. */
type PutBack = 'lost' | 'done' | 'absent'

const OUTCOMES: readonly PutBack[] = ['lost', 'done', 'absent']

/**
 * Puts entries back, each after its delay. One that is not pending any more was settled before, or is somebody else's.
 * One that was deleted while it was open can be given whole.
 */
export const RETURN = script(
  'settling events',
  reply => listOf(reply).map(outcome => OUTCOMES[numberOf(outcome)] ?? 'lost'),
  NOW,
  PUT_BACK,
  `
local events, own, waiting, notes = unpack(KEYS)
local streams = {events = events, own = own}
local handler = ARGV[1]
local now = clock()
check_places(own, waiting)
local outcomes = {}
for at = 2, #ARGV, 5 do
  local side, id, delay, past, text = ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 2]), ARGV[at + 3], ARGV[at + 4]
  local fields = entry(streams[side], id)
  if not fields and text ~= '' then fields = {'event', text} end
  local words = fields and with_past(fields, past)
  local pending = redis.pcall('XPENDING', streams[side], handler, id, id, 1)
  local outcome = 0
  if pending[1] and not words then outcome = 2
  elseif pending[1] then
    redis.call('XACK', streams[side], handler, id)
    if side == 'own' then redis.call('XDEL', own, id) end
    redis.call('HDEL', notes, side .. ' ' .. id)
    put(words, own, waiting, now, now + delay)
    outcome = 1
  end
  outcomes[#outcomes + 1] = outcome
end
return outcomes`,
)

/** Brings to the handler's stream what is due. Answers how many those were, and after how long the next one is (or -1). */
export const BRING_DUE = script(
  'bringing retries',
  reply => {
    const [moved, dueInMs] = listOf(reply).map(numberOf)
    return { moved: moved ?? 0, dueInMs: dueInMs === undefined || dueInMs < 0 ? undefined : dueInMs }
  },
  NOW,
  `
local own, waiting = unpack(KEYS)
local now = clock()
redis.call('XLEN', own)
local due = redis.call('ZRANGEBYSCORE', waiting, '-inf', now, 'LIMIT', 0, ARGV[1])
for _, member in ipairs(due) do
  local words = cmsgpack.unpack(member)
  redis.call('ZREM', waiting, member)
  redis.call('XADD', own, '*', unpack(words))
end
local first = redis.call('ZRANGE', waiting, 0, 0, 'WITHSCORES')
return {#due, first[2] and math.max(0, tonumber(first[2]) - now) or -1}`,
)

/**
 * Brings back what dead consumers had: those whose lease is over, if this one can tell, and those that have none, once what
 * they have has lain there for as long as a lease. An attempt that had begun counts. Answers how many entries those were.
 */
export const RECLAIM = script(
  'looking for dead consumers',
  numberOf,
  NOW,
  LISTS,
  PUT_BACK,
  `
local events, own, waiting, notes, leases, running = unpack(KEYS)
local streams = {events = events, own = own}
local handler, consumer, lease, limit = ARGV[1], ARGV[2], ARGV[4], tonumber(ARGV[5])
local now = clock()
-- Whoever asks may have been steady when it asked. If the server stood still since, its own lease shows that.
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
      local past = redis.call('HGET', notes, mark) or past_of(fields, id)
      words = with_past(fields, begun[mark] and one_more_begun(past) or past)
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
