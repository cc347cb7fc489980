import { FIELDS_FIELD, PAST_FIELD } from '../past.ts'

/** By the server's clock, so that it does not matter how much those of its clients differ. */
export const NOW = `
local function clock()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end`

/**
 * How an entry is put back: its fields as they are, with its past beside them, at the end of the handler's own stream or
 * among what waits. It is taken away before it is put somewhere, which is one step for everybody else; in this order it works on
 * a server whose memory is full as well: such a one refuses a script's first write only.
 *
 * What can go wrong is tried before the first write, because what a script has written stays when it fails later.
 */
export const PUT_BACK = `
-- A command of a script takes a few thousand words.
local MOST_FIELDS = 3000

local function entry(stream, id)
  local found = redis.call('XRANGE', stream, id, id)
  return found[1] and found[1][2]
end

local function past_of(fields, id)
  for at = 1, #fields, 2 do
    if fields[at] == '${PAST_FIELD}' then return fields[at + 1] end
  end
  return id .. ' 0 0'
end

local function one_more_begun(past)
  local from, started, rest = string.match(past, '^(%S+) (%d+)(.*)$')
  if not from then return past end
  return from .. ' ' .. string.format('%d', started + 1) .. rest
end

local function with_past(fields, past)
  local words = {}
  if #fields > 2 * MOST_FIELDS then return {'${FIELDS_FIELD}', cjson.encode(fields), '${PAST_FIELD}', past} end
  for at = 1, #fields, 2 do
    if fields[at] ~= '${PAST_FIELD}' then
      words[#words + 1] = fields[at]
      words[#words + 1] = fields[at + 1]
    end
  end
  words[#words + 1] = '${PAST_FIELD}'
  words[#words + 1] = past
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
