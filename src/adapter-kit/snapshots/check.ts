// What every store takes for a snapshot.
import { MAX_TIME_MS } from '../../core/event/uuid.ts'
import { group, resolveBy } from '../../core/options/resolve.ts'
import { custom, integer, list, number, optional, type RulesFor, text } from '../../core/options/rules.ts'
import type { ChannelSnapshot, ErrorShare } from '../../ports/snapshots.ts'

/** More than any collector takes in one round. */
const MAX_AT_ONCE = 100_000
const MAX_ERRORS = 100
const MAX_CHARACTERS = 1_000

const count = integer({ min: 0 })
const time = integer({ min: 0, max: MAX_TIME_MS })
const word = custom(isWord, `give a string of at most ${MAX_CHARACTERS} characters`)

const errorRules: RulesFor<ErrorShare> = { fingerprint: word, name: word, count }

const snapshotRules: RulesFor<ChannelSnapshot> = {
  v: custom((value): value is 1 => value === 1, 'give 1'),
  at: time,
  channel: text({ maxLength: MAX_CHARACTERS }),
  depth: count,
  oldestAt: optional(time),
  overAge: count,
  failedInLastHour: optional(count),
  averageRetries: number({ min: 0 }),
  sampled: count,
  errors: list(group(errorRules), { maxItems: MAX_ERRORS }),
}

const snapshotsRule = list(group(snapshotRules), { maxItems: MAX_AT_ONCE })

/**
 * The snapshots as they are kept: checked, of each moment of a channel the last one, and in one order for all who write,
 * so that no two of them wait for each other.
 */
export function resolveSnapshots(snapshots: readonly ChannelSnapshot[]): readonly ChannelSnapshot[] {
  const byMoment = new Map<string, ChannelSnapshot>()
  for (const { oldestAt, failedInLastHour, ...rest } of resolveBy('snapshots', snapshotsRule, snapshots))
    byMoment.set(`${rest.at} ${rest.channel}`, {
      ...rest,
      ...(oldestAt !== undefined && { oldestAt }),
      ...(failedInLastHour !== undefined && { failedInLastHour }),
    })
  return [...byMoment.values()].sort(compareSnapshots)
}

/** By channel, then newest first: as a list is. */
function compareSnapshots(a: ChannelSnapshot, b: ChannelSnapshot): number {
  if (a.channel !== b.channel) return a.channel < b.channel ? -1 : 1
  return b.at - a.at
}

function isWord(value: unknown): value is string {
  return typeof value === 'string' && value.length <= MAX_CHARACTERS
}
