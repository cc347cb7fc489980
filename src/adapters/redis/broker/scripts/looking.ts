import { listOf, numberOf, textOf } from '../../connection/replies.ts'
import { script } from '../../connection/script.ts'

/** How many events a handler has not finished with: not read yet, open, put back, or waiting for their time. */
export const DEPTH = script(
  'counting events',
  numberOf,
  `
local events, own, waiting = unpack(KEYS)
local handler = ARGV[1]

-- By pages: all of it at once would be a copy of the stream.
local function count_after(id)
  local count, page = 0
  repeat
    page = redis.call('XRANGE', events, '(' .. id, '+', 'COUNT', 1000)
    count = count + #page
    if #page > 0 then id = page[#page][1] end
  until #page < 1000
  return count
end

local count = redis.call('XLEN', own) + redis.call('ZCARD', waiting)
local groups = redis.pcall('XINFO', 'GROUPS', events)
if groups.err then return count end
for _, info in ipairs(groups) do
  local group = {}
  for at = 1, #info, 2 do group[info[at]] = info[at + 1] end
  if group.name == handler then
    return count + group.pending + (group.lag or count_after(group['last-delivered-id']))
  end
end
return count + redis.call('XLEN', events)`,
)

/** The fields of an entry byte by byte, in hex: a reply of texts has lost what is no UTF-8. */
export const RAW = script(
  'reading an entry',
  reply => listOf(reply).map(word => Buffer.from(textOf(word), 'hex')),
  `
local found = redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1])
local words = {}
for _, word in ipairs(found[1] and found[1][2] or {}) do
  words[#words + 1] = string.gsub(word, '.', function(char) return string.format('%02x', string.byte(char)) end)
end
return words`,
)
