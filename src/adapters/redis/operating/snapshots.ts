import type { OpenState } from '../../../adapter-kit/open-state.ts'
import { portionsOf } from '../../../adapter-kit/portions.ts'
import { resolvePurge } from '../../../adapter-kit/query/snapshot-query.ts'
import { resolveSnapshots } from '../../../adapter-kit/snapshots/check.ts'
import { listRows, purgeRows, rowOf } from '../../../adapter-kit/snapshots/rows.ts'
import type { Snapshots } from '../../../ports/snapshots.ts'
import type { RedisConnection } from '../connection/connection.ts'
import { listOf, numberOf, textOf } from '../connection/replies.ts'
import { type Script, ScriptRunner, script } from '../connection/script.ts'
import type { Keys } from '../keys.ts'

// Of every channel there is one sorted set: the texts of its snapshots by the time they were taken. It is index and
// content in one, so neither is ever without the other. `channels` has the names of those that have any.

const SNAPSHOTS = `
local root = KEYS[1]
local channels = root .. ':channels'
local function keyOf(channel) return root .. ':of:' .. channel end
`

/** Channel, time, text of each. */
const put: Script<void> = script(
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

const listChannels: Script<readonly string[]> = script(
  'listing snapshots',
  reply => listOf(reply).map(textOf),
  SNAPSHOTS,
  `return redis.call('SMEMBERS', channels)`,
)

/** From, before, how many of each; then the channels. */
const list: Script<readonly string[]> = script(
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

/** Deletes at most this many snapshots of all channels from before a time. Returns their number. */
const purge: Script<number> = script(
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

/** Written by one script: a few milliseconds in which the server does nothing else. */
const WRITTEN_AT_ONCE = 500

export function redisSnapshots(connection: RedisConnection, keys: Keys, door: OpenState): Snapshots {
  const scripts = new ScriptRunner(connection, keys.of('snapshots'), door)
  return {
    async append(snapshots) {
      door.requireOpen()
      for (const portion of portionsOf(resolveSnapshots(snapshots), WRITTEN_AT_ONCE))
        await scripts.runIdempotent(put, portion.flatMap(rowOf).map(String))
    },

    async list(query) {
      return await listRows(
        {
          channels: () => scripts.runIdempotent(listChannels, []),
          bodies: (channels, { after, before, perChannel }) =>
            scripts.runIdempotent(list, [String(after), String(before), String(perChannel), ...channels]),
        },
        query,
      )
    },

    /** The call is not repeated if its answer is lost, because it would not count what it has deleted. */
    async purge(before) {
      const bound = String(resolvePurge(before))
      return await purgeRows(most => scripts.run(purge, [bound, String(most)]))
    },
  }
}
