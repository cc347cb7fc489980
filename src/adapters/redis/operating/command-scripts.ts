import type { CommandRow } from '../../../adapter-kit/fleet/check-commands.ts'
import { isOne, listOf, numberOf, optionalTextOf, textOf } from '../connection/replies.ts'
import { type Script, SERVER_TIME, script } from '../connection/script.ts'

// A command is a hash. Its place is a number that grows with each command, so that the order does not depend on the clock.
// `all` and `request:REQUEST` have ids by place, `sent` has all ids by the time they were sent. `inbox:INSTANCE` has the
// ids an instance may claim, by place. A command with several recipients is in several inboxes; the one that claims it
// takes it out of its own, and the others drop it when they come to it. An inbox disappears with its last entry, and
// otherwise when the last of its commands is over. `claim:TOKEN` has what a claim got, as long as it may be repeated.

const COMMANDS = `
${SERVER_TIME}
local root = KEYS[1]
local all, sent = root .. ':all', root .. ':sent'
local now = server_time()
local function commandKey(id) return root .. ':command:' .. id end
local function requestKey(request) return root .. ':request:' .. request end
local function inboxKey(instance) return root .. ':inbox:' .. instance end
local function claimKey(token) return root .. ':claim:' .. token end
-- A command without a readable time is over, and so is one that was found over before the clock was set.
local function isOver(sentAt, ttlMs, endedAt)
  local at, ttl = tonumber(sentAt or ''), tonumber(ttlMs or '')
  return endedAt or not (at and ttl) or math.abs(now - at) >= ttl
end
local function whole(number) return string.format('%.0f', number) end
-- Keeps that a command is over. A full server may refuse it, and then the next reader does it.
local function keepOver(id, endedAt)
  if not endedAt then redis.pcall('HSET', commandKey(id), 'endedAt', whole(now)) end
end
-- A key may disappear when the last of its entries does.
local function expireAfter(key, ms)
  if redis.call('PTTL', key) < tonumber(ms) then redis.call('PEXPIRE', key, ms) end
end
`

/** The time to live; then id, request, recipients with a space between, text of each. */
export const send: Script<void> = script(
  'sending commands',
  () => {},
  COMMANDS,
  `
local ttlMs = ARGV[1]
local newest = redis.call('ZREVRANGE', all, 0, 0, 'WITHSCORES')
local place = tonumber(newest[2] or '0')
for at = 2, #ARGV, 4 do
  local id, request, recipients = ARGV[at], ARGV[at + 1], ARGV[at + 2]
  if redis.call('EXISTS', commandKey(id)) == 0 then
    place = place + 1
    redis.call('HSET', commandKey(id), 'request', request, 'to', recipients, 'body', ARGV[at + 3],
      'sentAt', whole(now), 'ttlMs', ttlMs)
    redis.call('ZADD', all, whole(place), id)
    redis.call('ZADD', sent, whole(now), id)
    redis.call('ZADD', requestKey(request), whole(place), id)
    for instance in string.gmatch(recipients, '%S+') do
      redis.call('ZADD', inboxKey(instance), whole(place), id)
      expireAfter(inboxKey(instance), ttlMs)
    end
  end
end
`,
)

export interface ClaimedBodies {
  /** Whether the inbox has commands that this script did not come to. */
  readonly isMore: boolean
  readonly bodies: readonly string[]
}

/**
 * Instance, token, how many to claim, how many to look at, the bytes after which the answer ends, and how long the same
 * token may ask again. It then gets the same commands, because its first answer may have been lost.
 */
export const claim: Script<ClaimedBodies> = script(
  'claiming commands',
  reply => {
    const [isMore, ...bodies] = listOf(reply)
    return { isMore: isOne(isMore), bodies: bodies.map(textOf) }
  },
  COMMANDS,
  `
local instance, token, most, room = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[5])
local inbox = inboxKey(instance)
local answer = { 0 }
for _, id in ipairs(redis.call('ZRANGE', claimKey(token), 0, -1)) do
  answer[#answer + 1] = redis.call('HGET', commandKey(id), 'body') or nil
end
if #answer == 1 then
  for _, id in ipairs(redis.call('ZRANGE', inbox, 0, ARGV[4] - 1)) do
    if #answer > most or room <= 0 then break end
    local body, sentAt, ttlMs, claimedBy, endedAt =
      unpack(redis.call('HMGET', commandKey(id), 'body', 'sentAt', 'ttlMs', 'claimedBy', 'endedAt'))
    if body and not claimedBy and isOver(sentAt, ttlMs, endedAt) then
      -- Another recipient must not get it later, when the clock was set.
      keepOver(id, endedAt)
    elseif body and not claimedBy then
      redis.call('HSET', commandKey(id), 'claimedBy', instance, 'claimedAt', whole(now), 'token', token)
      redis.call('ZADD', claimKey(token), #answer, id)
      answer[#answer + 1] = body
      room = room - #body
    end
    redis.call('ZREM', inbox, id)
  end
  if #answer > 1 then redis.call('PEXPIRE', claimKey(token), ARGV[6]) end
end
answer[1] = redis.call('EXISTS', inbox)
return answer
`,
)

/** Id, instance, outcome, call. The call that has stored the outcome may ask again: its first answer may have been lost. */
export const finish: Script<boolean> = script(
  'finishing a command',
  isOne,
  COMMANDS,
  `
local claimedBy, finishedBy = unpack(redis.call('HMGET', commandKey(ARGV[1]), 'claimedBy', 'finishedBy'))
if finishedBy then return finishedBy == ARGV[4] and 1 or 0 end
if claimedBy ~= ARGV[2] then return 0 end
redis.call('HSET', commandKey(ARGV[1]), 'outcome', ARGV[3], 'endedAt', whole(now), 'finishedBy', ARGV[4])
return 1
`,
)

export interface PortionOfCommands {
  readonly now: number
  /** The place to go on from, or '' at the end. */
  readonly next: string
  readonly rows: readonly CommandRow[]
}

const FIELDS = ['body', 'sentAt', 'ttlMs', 'claimedBy', 'claimedAt', 'endedAt', 'outcome']

/** The rows of ids with their places, until the answer has enough bytes. */
const ROWS = `
local function rowsOf(entries, most, room)
  local answer = { now, '' }
  for at = 1, #entries, 2 do
    local row = redis.call('HMGET', commandKey(entries[at]), ${FIELDS.map(field => `'${field}'`).join(', ')})
    if row[1] then
      if isOver(row[2], row[3], row[6]) then keepOver(entries[at], row[6]) end
      answer[#answer + 1] = row
      room = room - #row[1] - #(row[7] or '')
    end
    if at + 1 < #entries and (at + 1 == 2 * most or room <= 0) then
      answer[2] = entries[at + 1]
      break
    end
  end
  return answer
end
`

/** Request, place to go on from ('' at the start), how many, and the bytes after which the portion ends. Oldest first. */
export const ofRequest: Script<PortionOfCommands> = script(
  'reading the commands of a request',
  portionOf,
  COMMANDS,
  ROWS,
  `
local from, most = ARGV[2] == '' and '-inf' or '(' .. ARGV[2], tonumber(ARGV[3])
local entries = redis.call('ZRANGEBYSCORE', requestKey(ARGV[1]), from, '+inf', 'WITHSCORES', 'LIMIT', 0, most + 1)
return rowsOf(entries, most, tonumber(ARGV[4]))
`,
)

/** Place to go on from ('' at the start), how many, and the bytes after which the portion ends. Newest first. */
export const newest: Script<PortionOfCommands> = script(
  'listing commands',
  portionOf,
  COMMANDS,
  ROWS,
  `
local from, most = ARGV[1] == '' and '+inf' or '(' .. ARGV[1], tonumber(ARGV[2])
local entries = redis.call('ZREVRANGEBYSCORE', all, from, '-inf', 'WITHSCORES', 'LIMIT', 0, most + 1)
return rowsOf(entries, most, tonumber(ARGV[3]))
`,
)

/**
 * The time, how many to pass over, how many to look at, and how many entries of inboxes to delete at most; the last command
 * may exceed it. Returns how many were deleted, how many were passed over, and whether there are more.
 */
export const purge: Script<readonly [deleted: number, kept: number, isMore: boolean]> = script(
  'deleting commands',
  reply => {
    const [deleted, kept, isMore] = listOf(reply)
    return [numberOf(deleted), numberOf(kept), isOne(isMore)]
  },
  COMMANDS,
  `
local most, room = tonumber(ARGV[3]), tonumber(ARGV[4])
local due = redis.call('ZRANGEBYSCORE', sent, '-inf', '(' .. ARGV[1], 'LIMIT', ARGV[2], most)
local deleted, kept = 0, 0
for _, id in ipairs(due) do
  if room <= 0 then break end
  local key = commandKey(id)
  local request, to, sentAt, ttlMs, token, endedAt =
    unpack(redis.call('HMGET', key, 'request', 'to', 'sentAt', 'ttlMs', 'token', 'endedAt'))
  if not request then
    redis.call('ZREM', all, id)
    redis.call('ZREM', sent, id)
  elseif isOver(sentAt, ttlMs, endedAt) then
    for instance in string.gmatch(to or '', '%S+') do
      redis.call('ZREM', inboxKey(instance), id)
      room = room - 1
    end
    if token then redis.call('ZREM', claimKey(token), id) end
    redis.call('ZREM', requestKey(request), id)
    redis.call('ZREM', all, id)
    redis.call('ZREM', sent, id)
    redis.call('DEL', key)
    deleted = deleted + 1
  else
    kept = kept + 1
  end
end
return { deleted, kept, (#due == most or room <= 0) and 1 or 0 }
`,
)

function portionOf(reply: unknown): PortionOfCommands {
  const [now, next, ...rows] = listOf(reply)
  return { now: numberOf(now), next: textOf(next), rows: rows.map(rowOf) }
}

function rowOf(reply: unknown): CommandRow {
  const [body, sentAt, ttlMs, claimedBy, claimedAt, endedAt, outcome] = listOf(reply).map(optionalTextOf)
  return {
    body: body!,
    sentAt: Number(sentAt),
    ttlMs: Number(ttlMs),
    claimedBy,
    claimedAt: claimedAt === undefined ? undefined : Number(claimedAt),
    endedAt: endedAt === undefined ? undefined : Number(endedAt),
    outcome,
  }
}
