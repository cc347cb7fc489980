import { BUSY_MS, SETTLE_MS, SETTLED_MS } from '../../../core/limit/fleet/bucket.ts'
import { DEFAULT_ASSUMED_MEMBERS } from '../../../core/limit/fleet/policy.ts'
import { integer, milliseconds, text, withDefault } from '../../../core/options/rules.ts'
import { LimitClosedError, type SharedLimit, type TurnReservation } from '../../../ports/shared-limit.ts'
import { RedisConnection } from '../connection/connection.ts'
import { listOf, numberOf } from '../connection/replies.ts'
import { run, type Script, script } from '../connection/script.ts'
import { keysOf } from '../keys.ts'
import { connectionRules, type RedisConnectionOptions, resolveConnected } from '../options.ts'

/** Options of `redisLimit()`. */
export interface RedisLimitOptions extends RedisConnectionOptions {
  /** Names the limit: all that name the same one, under one prefix, share it. */
  readonly name: string
  /** The number of processes to assume until the server has answered for the first time [10]. */
  readonly assumedMembers?: number | undefined
}

/** Members continue alone long before these time limits, so they only decide when to try again. */
export const DEFAULT_LIMIT_TIMEOUT_MS = 1_000
/** The default of the option `reconnectMaxMs` of `redisLimit()`. */
export const DEFAULT_LIMIT_RECONNECT_MAX_MS = 500

const rules = {
  ...connectionRules,
  name: text({ maxLength: 200 }),
  timeoutMs: withDefault(milliseconds({ min: 4 }), DEFAULT_LIMIT_TIMEOUT_MS),
  reconnectMaxMs: withDefault(milliseconds({ min: 1 }), DEFAULT_LIMIT_RECONNECT_MAX_MS),
  assumedMembers: withDefault(integer({ min: 1, max: 1_000_000 }), DEFAULT_ASSUMED_MEMBERS),
}

/** A limit for all processes that use one server. It connects when it is first used. */
export function redisLimit(options: RedisLimitOptions): SharedLimit {
  const { assumedMembers, ...settings } = resolveConnected('redisLimit', rules, options)
  const keys = keysOf(settings.prefix, 'limit', settings.name)
  const connection = RedisConnection.of(settings, 'limit')
  const closing = new AbortController()
  const membersOf = (limit: string) => keys.of(limit, 'members')
  return {
    assumedMembers,
    closing: closing.signal,
    async reserve(limit, asked, { id, ttlMs }) {
      closing.signal.throwIfAborted()
      const { perSecond, burst, want, ahead, longestWaitMs, knownAheadMs, isAlone } = asked
      const numbers = [perSecond, burst, want, ahead, longestWaitMs, knownAheadMs].map(String)
      const args = [...numbers, id, String(ttlMs), isAlone ? '1' : '0']
      return run(connection, reserve, [keys.of(limit), membersOf(limit)], args, {
        failWhileDisconnected: true,
      })
    },
    async leave(limit, memberId) {
      closing.signal.throwIfAborted()
      const key = membersOf(limit)
      await connection.send('leaving a limit', ['ZREM', key, memberId], { key })
    },
    async close() {
      closing.abort(new LimitClosedError(settings.name))
      await connection.close()
    },
  }
}

/** An unused bucket is deleted after the time that it is ahead plus this time. */
const FORGET_AFTER_MS = 60_000

/**
 * The rule of `grantTurns` (core/limit/fleet/bucket.ts), by the server's clock. A bucket is what it was ahead when it was
 * last seen, so it does not matter if that clock is set: a step forward lets pass what it skips, a step back nothing.
 *
 *   KEYS: the bucket, its members
 *   ARGV: perSecond, burst, want, ahead, longestWaitMs, knownAheadMs, member, its time to live, whether it is alone
 */
const reserve: Script<TurnReservation> = script(
  'reserving turns',
  reply => {
    const numbers = listOf(reply).map(numberOf)
    const [granted = 0, firstInMs = 0, aheadMs = 0, members = 1, settlesInMs = 0] = numbers
    return { granted, firstInMs, aheadMs, members, settlesInMs }
  },
  `
local per_second, burst, want = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local longest_wait_ms, ttl_ms, is_alone = tonumber(ARGV[5]), tonumber(ARGV[8]), ARGV[9] == '1'
local function slots(ms) return ms * per_second / 1000 end
local function ms(slots) return slots * 1000 / per_second end

local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local kept = redis.call('HMGET', KEYS[1], 'ahead', 'seen', 'settles', 'idle')
local passed = math.max(0, now - (tonumber(kept[2]) or now))
local ahead = math.max(0, (tonumber(kept[1]) or 0) - slots(passed), slots(tonumber(ARGV[6])))
local first = ahead - (burst - 1)
local function up_to(ms) return math.max(0, math.floor(slots(ms) - first + 1 + 1e-6)) end
local granted = math.min(want, up_to(0) + tonumber(ARGV[4]), up_to(longest_wait_ms))
local reach = ahead + granted
local settles = (tonumber(kept[3]) or -math.huge) - passed
local idle = not is_alone and want > 0 and 0 or (tonumber(kept[4]) or math.huge) + passed
if is_alone and settles < -${SETTLED_MS} and idle > ${BUSY_MS} then settles = ${SETTLE_MS} end
if reach > 0 or settles >= -${SETTLED_MS} then
  redis.call('HSET', KEYS[1], 'ahead', string.format('%.17g', reach), 'seen', string.format('%.17g', now),
    'settles', string.format('%.17g', math.max(settles, -1e6)), 'idle', string.format('%.17g', math.min(idle, 1e6)))
  redis.call('PEXPIRE', KEYS[1], math.ceil(ms(reach)) + ${FORGET_AFTER_MS})
end

redis.call('ZADD', KEYS[2], string.format('%.17g', now + ttl_ms), ARGV[7])
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', string.format('%.17g', now))
-- Members with a time in the future: the clock was set back. Living members announce themselves again.
redis.call('ZREMRANGEBYSCORE', KEYS[2], string.format('(%.17g', now + ttl_ms), '+inf')
redis.call('PEXPIRE', KEYS[2], ttl_ms)
return { granted, string.format('%.17g', ms(first)), string.format('%.17g', ms(reach)), redis.call('ZCARD', KEYS[2]),
  string.format('%.17g', is_alone and math.max(0, settles) or 0) }
`,
)
