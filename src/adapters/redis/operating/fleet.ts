import { type InstanceRow, instancesOf, reportRow } from '../../../adapter-kit/fleet/check-report.ts'
import type { OpenState } from '../../../adapter-kit/open-state.ts'
import { resolvePurge } from '../../../adapter-kit/query/snapshot-query.ts'
import type { Fleet } from '../../../ports/fleet.ts'
import type { RedisConnection } from '../connection/connection.ts'
import { listOf, numberOf, textOf } from '../connection/replies.ts'
import { type Script, ScriptRunner, SERVER_TIME, script } from '../connection/script.ts'
import type { Keys } from '../keys.ts'

// `reports` is a hash: the report of each process by its id. Before the JSON stand the state (`A` reported, `L` left), the
// time it was last seen and the length of its lease, so one field holds everything of a process. `ids` is a sorted set of
// the ids: a list reads it portion by portion and meets each process once, whatever reports meanwhile. A report of another form has no time that
// can be read. Another version may have written it, and its process may be alive. So `unreadable` is a hash of when a purge first saw such a report,
// and of its digest: while the process is alive, its reports change.

/** A report that cannot be read, and does not change for this time, is of a process that is gone. */
const UNREADABLE_LEASE_MS = 3_600_000

const FLEET = `
${SERVER_TIME}
local root = KEYS[1]
local reports, ids = root .. ':reports', root .. ':ids'
local now = server_time()
local function headOf(kept) return string.match(kept, '^(%u)(%d+):(%d+):') end
local function keep(id, state, leaseMs, body)
  redis.call('HSET', reports, id, state .. string.format('%.0f', now) .. ':' .. leaseMs .. ':' .. body)
end
local function idsAfter(id, most)
  return redis.call('ZRANGEBYLEX', ids, id == '' and '-' or '(' .. id, '+', 'LIMIT', 0, most)
end
`

/** Id, lease, text. */
const report: Script<void> = script(
  'reporting a process',
  () => {},
  FLEET,
  `
keep(ARGV[1], 'A', ARGV[2], ARGV[3])
redis.call('ZADD', ids, 0, ARGV[1])
`,
)

const leave: Script<void> = script(
  'leaving the fleet',
  () => {},
  FLEET,
  `
local kept = redis.call('HGET', reports, ARGV[1])
local state, _, leaseMs = headOf(kept or '')
if state == 'A' then keep(ARGV[1], 'L', leaseMs, string.match(kept, ':%d+:(.*)$')) end
`,
)

interface Portion {
  readonly now: number
  /** The id to go on after, or '' at the end. */
  readonly next: string
  readonly kept: readonly string[]
}

/** Id to go on after ('' at the start), how many, and the bytes after which the portion ends. */
const list: Script<Portion> = script(
  'listing the fleet',
  reply => {
    const [now, next, ...kept] = listOf(reply)
    return { now: numberOf(now), next: textOf(next), kept: kept.map(textOf) }
  },
  FLEET,
  `
local most, room = tonumber(ARGV[2]), tonumber(ARGV[3])
local found = idsAfter(ARGV[1], most + 1)
local answer = { now, '' }
for at, id in ipairs(found) do
  local kept = redis.call('HGET', reports, id)
  if kept then
    answer[#answer + 1] = kept
    room = room - #kept
  end
  if at < #found and (at == most or room <= 0) then
    answer[2] = id
    break
  end
end
return answer
`,
)

/** Id to go on after, how many to look at, and the time. Returns the number of deleted ones and the id to go on after. */
const purge: Script<readonly [deleted: number, next: string]> = script(
  'deleting processes of the fleet',
  reply => {
    const [deleted, next] = listOf(reply)
    return [numberOf(deleted), textOf(next)]
  },
  FLEET,
  `
local most, before = tonumber(ARGV[2]), tonumber(ARGV[3])
local unreadable = root .. ':unreadable'
local found = idsAfter(ARGV[1], most)
local hasNotes = redis.call('EXISTS', unreadable) == 1
local deleted, notes = 0, {}

-- When a purge first saw this report.
local function firstSeen(id, kept)
  local digest = redis.sha1hex(kept)
  local seenAt, noted = string.match(redis.call('HGET', unreadable, id) or '', '^(%d+):(.*)$')
  if noted == digest then return seenAt end
  notes[#notes + 1] = id
  notes[#notes + 1] = string.format('%.0f', now) .. ':' .. digest
  return now
end

for _, id in ipairs(found) do
  local kept = redis.call('HGET', reports, id) or 'L0:0:'
  local state, seenAt, leaseMs = headOf(kept)
  if state and hasNotes then redis.call('HDEL', unreadable, id) end
  if not state then state, seenAt, leaseMs = 'A', firstSeen(id, kept), ${UNREADABLE_LEASE_MS} end
  local isAlive = state == 'A' and math.abs(now - seenAt) < tonumber(leaseMs)
  if not isAlive and tonumber(seenAt) < before then
    redis.call('HDEL', reports, id)
    redis.call('HDEL', unreadable, id)
    redis.call('ZREM', ids, id)
    deleted = deleted + 1
  end
end
-- A full server may refuse the notes. The next purge writes them.
if #notes > 0 then redis.pcall('HSET', unreadable, unpack(notes)) end
return { deleted, #found == most and found[most] or '' }
`,
)

/** Processes of one script: a few milliseconds in which the server does nothing else. */
const READ_AT_ONCE = 1_000
/** Bytes of one answer. A thousand usual reports of 1 to 2 KB fit. One report more may exceed it. */
const ANSWER_BYTES = 4_194_304

/** The processes of a store. Leases use the time of the server, so that machines need not agree. */
export function redisFleet(connection: RedisConnection, keys: Keys, door: OpenState): Fleet {
  const scripts = new ScriptRunner(connection, keys.of('fleet'), door)
  return {
    async report(reported, leaseMs) {
      door.requireOpen()
      const [id, body, lease] = reportRow(reported, leaseMs)
      await scripts.runIdempotent(report, [id, String(lease), body])
    },

    async leave(id) {
      await scripts.runIdempotent(leave, [id])
    },

    /** A thousand usual processes are one round trip. All are judged by the time of the first, so that none seems to age. */
    async list() {
      const first = await portionAfter('')
      const kept = [...first.kept]
      for (let { next } = first; next !== ''; ) {
        const portion = await portionAfter(next)
        kept.push(...portion.kept)
        next = portion.next
      }
      return instancesOf(kept.flatMap(rowOf), first.now)
    },

    /** The call is not repeated if its answer is lost, because it would not count what it has deleted. */
    async purge(before) {
      door.requireOpen()
      const bound = String(resolvePurge(before))
      let [total, after] = [0, '']
      do {
        const [deleted, next] = await scripts.run(purge, [after, String(READ_AT_ONCE), bound])
        total += deleted
        after = next
      } while (after !== '')
      return total
    },
  }

  function portionAfter(id: string): Promise<Portion> {
    return scripts.runIdempotent(list, [id, String(READ_AT_ONCE), String(ANSWER_BYTES)])
  }
}

/** Empty for a report of another form, which must not hide the others. */
function rowOf(kept: string): readonly InstanceRow[] {
  const [, state, seenAt, leaseMs, body] = /^(\w)(\d+):(\d+):(.*)$/s.exec(kept) ?? []
  if (body === undefined) return []
  return [{ body, seenAt: Number(seenAt), leaseMs: Number(leaseMs), hasLeft: state === 'L' }]
}
