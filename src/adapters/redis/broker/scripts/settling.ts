import { listOf, numberOf } from '../../connection/replies.ts'
import { SERVER_TIME, script } from '../../connection/script.ts'
import { FIELDS_FIELD, LOG_FIELD } from '../entry.ts'

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
 * How an entry is put back: its fields as they are, with its log beside them, at the end of the handler's own stream or
 * among what waits. It is taken away before it is put somewhere, which is one step for everybody else; in this order it works on
 * a server whose memory is full as well: such a one refuses a script's first write only.
 *
 * Commands that can fail run before the first write, because the writes of a script stay when it fails later.
 */
export const PUT_BACK = `
-- A command of a script takes a few thousand words.
local MAX_FIELDS = 3000

local function entry(stream, id)
  local found = redis.call('XRANGE', stream, id, id)
  return found[1] and found[1][2]
end

local function log_of(fields, id)
  for at = 1, #fields, 2 do
    if fields[at] == '${LOG_FIELD}' then return fields[at + 1] end
  end
  return id .. ' 0 0'
end

local function one_more_begun(log)
  local from, started, rest = string.match(log, '^(%S+) (%d+)(.*)$')
  if not from then return log end
  return from .. ' ' .. string.format('%d', started + 1) .. rest
end

local function with_log(fields, log)
  local words = {}
  if #fields > 2 * MAX_FIELDS then return {'${FIELDS_FIELD}', cjson.encode(fields), '${LOG_FIELD}', log} end
  for at = 1, #fields, 2 do
    if fields[at] ~= '${LOG_FIELD}' then
      words[#words + 1] = fields[at]
      words[#words + 1] = fields[at + 1]
    end
  end
  words[#words + 1] = '${LOG_FIELD}'
  words[#words + 1] = log
  return words
end

local function check_places(own, waiting)
  redis.call('XLEN', own)
  redis.call('ZCARD', waiting)
end

local function put(words, own, waiting, now, due)
  if due <= now then redis.call('XADD', own, '*', unpack(words))
  else redis.call('ZADD', waiting, due, cmsgpack.pack(words)) end
end`

/** The result for an entry that was put back: `absent` means that the entry was deleted while it was open. */
type PutBack = 'lost' | 'done' | 'absent'

const OUTCOMES: readonly PutBack[] = ['lost', 'done', 'absent']

/**
 * Puts entries back, each after its delay. An entry that is no longer pending was settled before, or belongs to another
 * consumer. An entry that was deleted while it was open can be passed whole.
 */
export const RETURN = script(
  'settling events',
  reply => listOf(reply).map(outcome => OUTCOMES[numberOf(outcome)] ?? 'lost'),
  SERVER_TIME,
  PUT_BACK,
  `
local events, own, waiting, notes = unpack(KEYS)
local streams = {events = events, own = own}
local handler = ARGV[1]
local now = server_time()
check_places(own, waiting)
local outcomes = {}
for at = 2, #ARGV, 5 do
  local side, id, delay, log, text = ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 2]), ARGV[at + 3], ARGV[at + 4]
  local fields = entry(streams[side], id)
  if not fields and text ~= '' then fields = {'event', text} end
  local words = fields and with_log(fields, log)
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

/** Moves due entries to the handler's stream. Returns their number, and the time until the next one (or -1). */
export const BRING_DUE = script(
  'moving due retries',
  reply => {
    const [moved, dueInMs] = listOf(reply).map(numberOf)
    return { moved: moved ?? 0, dueInMs: dueInMs === undefined || dueInMs < 0 ? undefined : dueInMs }
  },
  SERVER_TIME,
  `
local own, waiting = unpack(KEYS)
local now = server_time()
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
