import { listOf, numberOf, textOf } from '../connection/replies.ts'
import { type Script, script } from '../connection/script.ts'

// Of every channel there is one sorted set: the texts of its snapshots by the time they were taken. It is index and
// content in one, so neither is ever without the other. `channels` has the names of those that have any.

const SNAPSHOTS = `
local root = KEYS[1]
local channels = root .. ':channels'
local function keyOf(channel) return root .. ':of:' .. channel end
`

/** Channel, time, text of each. */
export const put: Script<void> = script(
  'writing snapshots',
  () => {},
  SNAPSHOTS,
  `
for at = 1, #ARGV, 3 do
  local channel, time = ARGV[at], ARGV[at + 1]
  redis.call('ZREMRANGEBYSCORE', keyOf(channel), time, time)
  redis.call('ZADD', keyOf(channel), time, ARGV[at + 2])
  redis.call('SADD', channels, channel)
end
`,
)

export const listChannels: Script<readonly string[]> = script(
  'listing snapshots',
  reply => listOf(reply).map(textOf),
  SNAPSHOTS,
  `return redis.call('SMEMBERS', channels)`,
)

/** From, before, how many of each; then the channels. */
export const list: Script<readonly string[]> = script(
  'listing snapshots',
  reply => listOf(reply).map(textOf),
  SNAPSHOTS,
  `
local after, before, most = ARGV[1], ARGV[2], ARGV[3]
local bodies = {}
for at = 4, #ARGV do
  for _, body in ipairs(redis.call('ZREVRANGEBYSCORE', keyOf(ARGV[at]), '(' .. before, after, 'LIMIT', 0, most)) do
    bodies[#bodies + 1] = body
  end
end
return bodies
`,
)

/** Of all channels together at most so many of those before a time; answers how many. */
export const purge: Script<number> = script(
  'deleting snapshots',
  numberOf,
  SNAPSHOTS,
  `
local before, most = '(' .. ARGV[1], tonumber(ARGV[2])
local deleted = 0
for _, channel in ipairs(redis.call('SMEMBERS', channels)) do
  if deleted == most then break end
  local key = keyOf(channel)
  local due = math.min(redis.call('ZCOUNT', key, '-inf', before), most - deleted)
  if due > 0 then deleted = deleted + redis.call('ZREMRANGEBYRANK', key, 0, due - 1) end
  if redis.call('EXISTS', key) == 0 then redis.call('SREM', channels, channel) end
end
return deleted
`,
)
