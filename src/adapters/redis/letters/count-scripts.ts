import type { LetterState } from '../../../core/dead-letter/state.ts'
import { listOf, numberOf, textOf } from '../connection/replies.ts'
import { type Script, script } from '../connection/script.ts'
import { type Found, foundIn, MATCHING } from './facet-scripts.ts'
import { LETTERS, READING } from './shared-lua.ts'

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
  READING,
  MATCHING,
  `
if repair() or sweep() then return 0 end
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
  READING,
  MATCHING,
  `
if repair() or sweep() then return 0 end
local rows = {}
for _, facet in ipairs(matching(1)) do
  local fields = fieldsOf(facet)
  rows[#rows + 1] = { facet, fields.c, fields.h, fields.s, fields.r }
end
return rows
`,
)

/** Letters of some facets, and where to go on: at which facet, behind which letter of it (none: at its beginning). */
interface FacetLetters {
  /** For each facet that was looked at, in the order of the question. */
  readonly found: readonly (readonly Found[])[]
  readonly next: Found | undefined
}

/**
 * The letters of some facets within some times, facet by facet, oldest first, from a place in the first one on; with a text, only those that
 * contain it. The answer ends after a number of letters and facets.
 */
export const readFacetLetters: Script<FacetLetters> = script(
  'counting dead letters',
  reply => {
    const [found, id, score] = listOf(reply)
    return {
      found: listOf(found).map(foundIn),
      next: id === undefined ? undefined : { id: textOf(id), score: textOf(score) },
    }
  },
  LETTERS,
  `
local after, before, search, most, score, behind = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), ARGV[5], ARGV[6]
local answer = {}

local function startIn(index, isFirst)
  if isFirst and behind ~= '' then return rankAfter(index, score, behind) end
  if after ~= '' then return redis.call('ZCOUNT', index, '-inf', '(' .. after) end
  return 0
end

for facet = 7, #ARGV do
  local index, found = lettersOf(ARGV[facet]), {}
  local start = startIn(index, facet == 7)
  local words = redis.call('ZRANGE', index, start, start + most - 1, 'WITHSCORES')
  local isMore = #words == most * 2
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
  answer[#answer + 1] = found
  if isMore then return { answer, words[#words - 1], words[#words] } end
  -- A facet costs as much as a letter, also an empty one.
  most = most - #words / 2 - 1
  if most <= 0 then break end
end
return { answer }
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
