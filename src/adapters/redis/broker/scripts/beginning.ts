import { numberOf } from '../../replies.ts'
import { script } from '../../script.ts'

/**
 * Writes down which attempts a consumer has begun, all of them as one list, and notes of those that have a past. 0 when
 * the consumer was taken for dead meanwhile: then others have its events.
 */
export const BEGIN = script(
  'recording attempts',
  numberOf,
  `
local leases, running, notes = unpack(KEYS)
local consumer, begun = ARGV[1], ARGV[2]
if not redis.call('ZSCORE', leases, consumer) then return 0 end
redis.call('HDEL', running, consumer)
redis.call('HSET', running, consumer, begun)
for at = 3, #ARGV, 2 do redis.call('HSET', notes, ARGV[at], ARGV[at + 1]) end
return 1`,
)
