import { numberOf } from '../../connection/replies.ts'
import { script } from '../../connection/script.ts'

/**
 * Writes down which attempts a consumer begins, as one list, removes lists of which none runs any more, and keeps notes of
 * entries that have a past. 0 when the consumer was taken for dead meanwhile: then others have its events.
 */
export const BEGIN = script(
  'recording attempts',
  numberOf,
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

/** The lists of the attempts that a consumer has begun. Their names begin with its own. */
export const LISTS = `
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
