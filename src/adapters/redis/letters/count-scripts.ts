import type { LetterState } from '../../../core/dead-letter/state.ts'
import { listOf, numberOf, textOf } from '../connection/replies.ts'
import { type Script, script } from '../connection/script.ts'
import { type Found, MATCHING } from './facet-scripts.ts'
import { LETTERS } from './shared-lua.ts'

/** What is counted of a facet. */
export interface FacetFields {
  readonly channel: string
  readonly handler: string
  readonly state: LetterState
  readonly reason: string
}

interface Facet extends FacetFields {
  readonly id: string
}

function fieldsIn(words: readonly unknown[]): FacetFields {
  const [channel, handler, state, reason] = words.map(textOf)
  return { channel: channel!, handler: handler!, state: state as LetterState, reason: reason! }
}

/** The counts of one facet. */
interface FacetCount extends FacetFields {
  readonly count: number
  readonly oldestAt: number
  readonly newestAt: number
}

/** The counts of some facets, and how many facets match. */
interface FacetCounts {
  readonly facets: number
  readonly counts: readonly FacetCount[]
}

/** Counts the letters of some of the facets that match, within some times. Undefined: due letters must be deleted first. */
export const countFacets: Script<FacetCounts | undefined> = script(
  'counting dead letters',
  reply => {
    if (!Array.isArray(reply)) return undefined
    const [facets, rows] = listOf(reply)
    const counts = listOf(rows).map(row => {
      const [count, oldestAt, newestAt, ...fields] = listOf(row)
      return {
        ...fieldsIn(fields),
        count: numberOf(count),
        oldestAt: numberOf(oldestAt),
        newestAt: numberOf(newestAt),
      }
    })
    return { facets: numberOf(facets), counts }
  },
  LETTERS,
  MATCHING,
  `
if sweep() then return 0 end
local low, high = ARGV[1] == '' and '-inf' or ARGV[1], ARGV[2] == '' and '+inf' or '(' .. ARGV[2]
local all = matching(5)
local rows = {}
for _, facet in ipairs(some(all, tonumber(ARGV[3]), tonumber(ARGV[4]))) do
  local index = lettersOf(facet)
  local count = redis.call('ZCOUNT', index, low, high)
  if count > 0 then
    local fields = fieldsOf(facet)
    local oldest = redis.call('ZRANGEBYSCORE', index, low, high, 'WITHSCORES', 'LIMIT', 0, 1)
    local newest = redis.call('ZREVRANGEBYSCORE', index, high, low, 'WITHSCORES', 'LIMIT', 0, 1)
    rows[#rows + 1] = { count, oldest[2], newest[2], fields.c, fields.h, fields.s, fields.r }
  end
end
return { #all, rows }
`,
)

/** The facets that match, with what is counted of them. Undefined: due letters must be deleted first. */
export const readFacets: Script<readonly Facet[] | undefined> = script(
  'reading the facets of dead letters',
  reply =>
    Array.isArray(reply)
      ? reply.map(row => {
          const [id, ...fields] = listOf(row)
          return { id: textOf(id), ...fieldsIn(fields) }
        })
      : undefined,
  LETTERS,
  MATCHING,
  `
if sweep() then return 0 end
local rows = {}
for _, facet in ipairs(matching(1)) do
  local fields = fieldsOf(facet)
  rows[#rows + 1] = { facet, fields.c, fields.h, fields.s, fields.r }
end
return rows
`,
)

/** The next letters of a facet within some times, oldest first, from a place on; with a text, only those that contain it. */
export const readFacet: Script<{ readonly found: readonly Found[]; readonly next: Found | undefined }> =
  script(
    'counting dead letters',
    reply => {
      const [words, id, score] = listOf(reply)
      const found = listOf(words)
      return {
        found: Array.from({ length: found.length / 2 }, (_, at) => ({
          id: textOf(found[at * 2]),
          score: textOf(found[at * 2 + 1]),
        })),
        next: id === undefined ? undefined : { id: textOf(id), score: textOf(score) },
      }
    },
    LETTERS,
    `
local index, after, before, search = lettersOf(ARGV[1]), ARGV[2], ARGV[3], ARGV[4]
local most, score, behind = tonumber(ARGV[5]), ARGV[6], ARGV[7]
local start = 0
if behind ~= '' then start = rankAfter(index, score, behind)
elseif after ~= '' then start = redis.call('ZCOUNT', index, '-inf', '(' .. after) end
local words = redis.call('ZRANGE', index, start, start + most - 1, 'WITHSCORES')
local found, isMore = {}, #words == most * 2
for at = 1, #words, 2 do
  if before ~= '' and tonumber(words[at + 1]) >= tonumber(before) then
    isMore = false
    break
  end
  if search == '' or string.find(redis.call('HGET', keyOf(words[at]), 'q') or '', search, 1, true) then
    found[#found + 1] = words[at]
    found[#found + 1] = words[at + 1]
  end
end
if isMore then return { found, words[#words - 1], words[#words] } end
return { found }
`,
  )

/** Counts the letters of some facets by the time of their last failure: facets first, then bounds. */
export const countFacetTimes: Script<readonly number[]> = script(
  'counting dead letters by time',
  reply => listOf(reply).map(numberOf),
  LETTERS,
  `
local facets, counts = tonumber(ARGV[1]), {}
for at = 2 + facets, #ARGV, 2 do
  local sum = 0
  for facet = 2, 1 + facets do sum = sum + redis.call('ZCOUNT', lettersOf(ARGV[facet]), ARGV[at], '(' .. ARGV[at + 1]) end
  counts[#counts + 1] = sum
end
return counts
`,
)
