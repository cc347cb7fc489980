import { numberOf } from '../../connection/replies.ts'
import { script } from '../../connection/script.ts'
import { FLOOR } from './finishing.ts'

/** Adds events to a stream, in the order given, all or none of them. */
export const PUBLISH = script(
  'publishing events',
  numberOf,
  `
for at = 1, #ARGV do redis.call('XADD', KEYS[1], '*', 'event', ARGV[at]) end
return #ARGV`,
)

/** The same for a stream that may have only so many. Answers how many there was room for. */
export const PUBLISH_WITHIN = script(
  'publishing events',
  numberOf,
  FLOOR,
  `
local most = tonumber(ARGV[1])
local room = most - redis.call('XLEN', KEYS[1])
if room < #ARGV - 1 then
  local floor = floor_of(KEYS[1])
  if floor then redis.call('XTRIM', KEYS[1], 'MINID', floor) end
  room = most - redis.call('XLEN', KEYS[1])
end
local added = math.max(0, math.min(room, #ARGV - 1))
for at = 2, added + 1 do redis.call('XADD', KEYS[1], '*', 'event', ARGV[at]) end
return added`,
)
