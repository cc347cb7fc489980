import {
  applyTriageChange,
  compareGroups,
  type GroupTriage,
  groupCursor,
  matchesGroup,
  NO_TRIAGE,
  resolveGroupQuery,
} from '../../../adapter-kit/query/group-query.ts'
import { pageOf } from '../../../adapter-kit/query/page.ts'
import { currentTriage } from '../../../core/dead-letter/group.ts'
import { type GroupTally, tallyGroups } from '../../../core/dead-letter/group-tally.ts'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { Group, Groups } from '../../../ports/groups.ts'

/** Computes groups from the letters at each call. It stores only triage. */
export function memoryGroups(letters: () => Iterable<DeadLetter>, clock: Clock): Groups {
  const triageByGroup = new Map<string, GroupTriage>()
  return {
    async list(query) {
      const { limit, startAfter, ...filter } = resolveGroupQuery(query)
      const groups = [...tallyGroups(letters()).values()]
        .map(toGroup)
        .filter(group => matchesGroup(group, filter))
        .filter(group => startAfter === undefined || compareGroups(group, startAfter) > 0)
        .sort(compareGroups)
      const { shown, cursor } = pageOf(groups, limit, last => groupCursor(last, query ?? {}))
      return { groups: shown, cursor }
    },

    async get(id) {
      const tally = tallyGroups(letters()).get(id)
      return tally && toGroup(tally)
    },

    async change(id, change) {
      const tally = tallyGroups(letters()).get(id)
      if (tally === undefined) return undefined
      triageByGroup.set(id, applyTriageChange(triageByGroup.get(id) ?? NO_TRIAGE, change))
      return toGroup(tally)
    },
  }

  function toGroup(tally: GroupTally): Group {
    const { triage, notes } = triageByGroup.get(tally.id) ?? NO_TRIAGE
    return { ...tally, triage, ...currentTriage(triage, tally.lastSeenAt, clock.now()), notes }
  }
}
