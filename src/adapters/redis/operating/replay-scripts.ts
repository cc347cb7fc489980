import { isOne, listOf, numberOf, optionalTextOf, textOf } from '../connection/replies.ts'
import { type Script, SERVER_TIME, script } from '../connection/script.ts'

// A replay is a hash (its text, its revision, who runs it and until when), and all of them are in one index by time. Its
// items are a hash of their own by position, each with its status before its text, and a set of positions for each status.

/** Items that are written but do not belong to a replay yet; they expire if their writer dies. */
const STAGED_MS = 3_600_000

const REPLAYS = `
local root = KEYS[1]
local STATUSES = { 'waiting', 'sent', 'recovered', 'failed_same_cause', 'failed_new_cause', 'skipped', 'lost' }
local function replayKey(id) return root .. ':replay:' .. id end
local function itemsKey(id) return root .. ':items:' .. id end
local function statusKey(id, status) return root .. ':status:' .. id .. ':' .. status end
`

/** Name of the staged replay, then position, status, text of each. */
export const stage: Script<void> = script(
  'writing the letters of a replay',
  () => {},
  REPLAYS,
  `
local staged = ARGV[1]
for at = 2, #ARGV, 3 do
  local position, status = ARGV[at], ARGV[at + 1]
  redis.call('HSET', itemsKey(staged), position, status .. '\\n' .. ARGV[at + 2])
  redis.call('ZADD', statusKey(staged, status), position, position)
end
redis.call('PEXPIRE', itemsKey(staged), ${STAGED_MS})
for _, status in ipairs(STATUSES) do redis.call('PEXPIRE', statusKey(staged, status), ${STAGED_MS}) end
`,
)

/** The replay with everything that was staged for it. `exists`: another has its id. `incomplete`: not all of it is there. */
export const create: Script<'created' | 'exists' | 'incomplete'> = script(
  'creating a replay',
  reply => textOf(reply) as 'created' | 'exists' | 'incomplete',
  REPLAYS,
  `
local id, staged, items, createdAt, revision, body = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[5], ARGV[6]
if redis.call('EXISTS', replayKey(id)) == 1 then
  return redis.call('HGET', replayKey(id), 'staged') == staged and 'created' or 'exists'
end
if redis.call('HLEN', itemsKey(staged)) ~= items then return 'incomplete' end
redis.call('HSET', replayKey(id), 'body', body, 'revision', revision, 'staged', staged)
redis.call('ZADD', root .. ':index', createdAt, id)
if items > 0 then
  redis.call('PERSIST', itemsKey(staged))
  redis.call('RENAME', itemsKey(staged), itemsKey(id))
end
for _, status in ipairs(STATUSES) do
  if redis.call('EXISTS', statusKey(staged, status)) == 1 then
    redis.call('PERSIST', statusKey(staged, status))
    redis.call('RENAME', statusKey(staged, status), statusKey(id, status))
  end
end
return 'created'
`,
)

export const read: Script<string | undefined> = script(
  'reading a replay',
  optionalTextOf,
  REPLAYS,
  `return redis.call('HGET', replayKey(ARGV[1]), 'body')`,
)

/** The texts of a number of replays after a rank, newest first. */
export const list: Script<readonly string[]> = script(
  'listing replays',
  reply => listOf(reply).map(textOf),
  REPLAYS,
  `
local bodies = {}
for _, id in ipairs(redis.call('ZREVRANGE', root .. ':index', ARGV[1], ARGV[1] + ARGV[2] - 1)) do
  bodies[#bodies + 1] = redis.call('HGET', replayKey(id), 'body')
end
return bodies
`,
)

export const update: Script<boolean> = script(
  'changing a replay',
  isOne,
  REPLAYS,
  `
local id, from, to, body = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
if redis.call('HGET', replayKey(id), 'revision') ~= from then return 0 end
redis.call('HSET', replayKey(id), 'revision', to, 'body', body)
return 1
`,
)

/** The texts of a number of items after a position, with a status or ('') with any. */
export const items: Script<readonly string[]> = script(
  'reading the letters of a replay',
  reply => listOf(reply).map(textOf),
  REPLAYS,
  `
local id, status, after, most = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local positions = {}
if status == '' then
  local count = redis.call('HLEN', itemsKey(id))
  for position = after + 1, math.min(after + most, count - 1) do positions[#positions + 1] = string.format('%.0f', position) end
else
  positions = redis.call('ZRANGEBYSCORE', statusKey(id, status), '(' .. ARGV[3], '+inf', 'LIMIT', 0, most)
end
if #positions == 0 then return {} end
local texts = {}
for _, kept in ipairs(redis.call('HMGET', itemsKey(id), unpack(positions))) do
  if kept then texts[#texts + 1] = string.match(kept, '^%S*\\n(.*)$') end
end
return texts
`,
)

/**
 * Takes the part of its text by which a stored item names its delivery, or an empty text, and position, status and text of each
 * item. A missing item is not created. An item is not decoded, because its reason may quote any text. In a reason the quotes
 * would be escaped.
 */
export const record: Script<void> = script(
  'recording outcomes of a replay',
  () => {},
  REPLAYS,
  `
local id, delivery, onlyStatus = ARGV[1], ARGV[2], ARGV[3]
local function isMeant(kept)
  local isStatus = onlyStatus == '' or string.match(kept, '^(%S*)\\n') == onlyStatus
  return isStatus and (delivery == '' or string.find(kept, delivery, 1, true) ~= nil)
end
for at = 4, #ARGV, 3 do
  local position, status = ARGV[at], ARGV[at + 1]
  local kept = redis.call('HGET', itemsKey(id), position)
  if kept and isMeant(kept) then
    redis.call('HSET', itemsKey(id), position, status .. '\\n' .. ARGV[at + 2])
    redis.call('ZREM', statusKey(id, string.match(kept, '^(%S*)\\n')), position)
    redis.call('ZADD', statusKey(id, status), position, position)
  end
end
`,
)

/** Returns the counts in the order of the given statuses. */
export const counts: Script<readonly number[]> = script(
  'counting outcomes of a replay',
  reply => listOf(reply).map(numberOf),
  REPLAYS,
  `
local numbers = {}
for at = 2, #ARGV do numbers[#numbers + 1] = redis.call('ZCARD', statusKey(ARGV[1], ARGV[at])) end
return numbers
`,
)

export const lease: Script<boolean> = script(
  'leasing a replay',
  isOne,
  SERVER_TIME,
  REPLAYS,
  `
local id, owner, ms = ARGV[1], ARGV[2], tonumber(ARGV[3])
local now = server_time()
local known = redis.call('HMGET', replayKey(id), 'body', 'runner', 'until')
if not known[1] then return 0 end
if known[2] and known[2] ~= owner and tonumber(known[3]) > now then return 0 end
redis.call('HSET', replayKey(id), 'runner', owner, 'until', now + ms)
return 1
`,
)

export const releaseLease: Script<void> = script(
  'releasing a replay',
  () => {},
  REPLAYS,
  `
if redis.call('HGET', replayKey(ARGV[1]), 'runner') == ARGV[2] then
  redis.call('HDEL', replayKey(ARGV[1]), 'runner', 'until')
end
`,
)
