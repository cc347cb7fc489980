import { createClient } from 'redis'
import { factsOf } from '../../src/adapters/redis/letters/facts.ts'
import { encodeLetter } from '../../src/core/dead-letter/json.ts'
import type { DeadLetter } from '../../src/core/dead-letter/letter.ts'

/** The scripts of the last version without facets, as they were, apart from retention and the check of versions. */
const LETTERS = `
local root = KEYS[1]
local HELD = { dead = true, quarantined = true, parked = true }
local INDEXED = { 'c', 't', 's', 'g' }

local function keyOf(id) return root .. ':letter:' .. id end
local function by(facet, value) return root .. ':by:' .. facet .. ':' .. value end

local function count(key, field, step)
  if redis.call('HINCRBY', key, field, step) <= 0 then redis.call('HDEL', key, field) end
end

local function factsOf(id)
  local packed = redis.call('HGET', keyOf(id), 'm')
  return packed and cmsgpack.unpack(packed)
end

local function countLetter(facts, step)
  for _, facet in ipairs({ 's', 'r', 'c' }) do count(root .. ':counts', facet .. ':' .. facts[facet], step) end
  local group = root .. ':group:' .. facts.g
  count(group, 'count', step)
  count(group, 'c:' .. facts.c, step)
  if HELD[facts.s] then count(group, 'waiting', step) end
  if facts.n == '1' then count(group, 'replayed', step) end
  if facts.n == '1' and facts.s == 'resolved' then count(group, 'recovered', step) end
end

local function placeGroup(id)
  local last = redis.call('ZRANGE', by('g', id), -1, -1, 'WITHSCORES')
  if last[2] then
    redis.call('ZADD', root .. ':groups', string.format('%.17g', -last[2]), id)
  else
    redis.call('ZREM', root .. ':groups', id)
    redis.call('DEL', root .. ':group:' .. id)
  end
end

local function unindex(id, facts)
  redis.call('ZREM', root .. ':all', id)
  redis.call('ZREM', root .. ':expiry', id)
  if not facts then return end
  for _, facet in ipairs(INDEXED) do redis.call('ZREM', by(facet, facts[facet]), id) end
  redis.call('ZREM', root .. ':first:' .. facts.g, id)
  countLetter(facts, -1)
  placeGroup(facts.g)
end
`

const SAVE = `
${LETTERS}
local id, body = ARGV[1], ARGV[2]
local channel, handler, kind, reason, category, state, group = ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7], ARGV[8], ARGV[9]
local at, firstAt, replayed, search, title, rule, basis = ARGV[10], ARGV[11], ARGV[12], ARGV[13], ARGV[14], ARGV[15], ARGV[16]
local key = keyOf(id)
local known = factsOf(id)
if known then unindex(id, known) end
local version = string.format('%.0f', redis.call('INCR', root .. ':version'))
local facts = { v = version, l = '', u = '', x = '', c = channel, h = handler, t = kind, r = reason, y = category, s = state, g = group,
  at = at, n = replayed }
redis.call('HSET', key, 'b', body, 'q', search, 'm', cmsgpack.pack(facts))
redis.call('ZADD', root .. ':all', at, id)
for _, facet in ipairs(INDEXED) do redis.call('ZADD', by(facet, facts[facet]), at, id) end
redis.call('ZADD', root .. ':first:' .. group, firstAt, id)
local info = root .. ':group:' .. group
if redis.call('HEXISTS', info, 'title') == 0 then
  redis.call('HSET', info, 'title', title, 'rule', rule, 'basis', basis, 'category', category)
end
countLetter(facts, 1)
placeGroup(group)
`

const REMOVE = `
${LETTERS}
for _, id in ipairs(ARGV) do
  unindex(id, factsOf(id))
  redis.call('DEL', keyOf(id))
end
`

/** A process of an earlier version, which does not know facets. */
export interface EarlierVersion {
  save(...letters: readonly DeadLetter[]): Promise<void>
  delete(...ids: readonly string[]): Promise<void>
  close(): Promise<void>
}

export async function openEarlier(url: string, prefix: string): Promise<EarlierVersion> {
  const client = createClient({ url, RESP: 2 })
  await client.connect()
  const run = (script: string, args: readonly string[]) =>
    client.sendCommand(['EVAL', script, '1', `{${prefix}}:letters`, ...args])
  return {
    async save(...letters) {
      const argsOf = (letter: DeadLetter) => [
        letter.id,
        encodeLetter(letter),
        ...factsOf(letter, undefined).slice(0, 14),
      ]
      await Promise.all(letters.map(letter => run(SAVE, argsOf(letter))))
    },
    async delete(...ids) {
      await run(REMOVE, ids)
    },
    close: async () => client.destroy(),
  }
}
