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
import type { Group, GroupPage, GroupQuery, Groups, TriageChange } from '../../../ports/groups.ts'

/** Computes groups from the letters at each call. It stores only triage. */
export class MemoryGroups implements Groups {
  readonly #letters: () => Iterable<DeadLetter>
  readonly #clock: Clock
  readonly #triageByGroup = new Map<string, GroupTriage>()

  constructor(letters: () => Iterable<DeadLetter>, clock: Clock) {
    this.#letters = letters
    this.#clock = clock
  }

  async list(query?: GroupQuery): Promise<GroupPage> {
    const { limit, startAfter, ...filter } = resolveGroupQuery(query)
    const groups = [...tallyGroups(this.#letters()).values()]
      .map(tally => this.#group(tally))
      .filter(group => matchesGroup(group, filter))
      .filter(group => startAfter === undefined || compareGroups(group, startAfter) > 0)
      .sort(compareGroups)
    const { shown, cursor } = pageOf(groups, limit, last => groupCursor(last, query ?? {}))
    return { groups: shown, cursor }
  }

  async get(id: string): Promise<Group | undefined> {
    const tally = tallyGroups(this.#letters()).get(id)
    return tally && this.#group(tally)
  }

  async change(id: string, change: TriageChange): Promise<Group | undefined> {
    const tally = tallyGroups(this.#letters()).get(id)
    if (tally === undefined) return undefined
    this.#triageByGroup.set(id, applyTriageChange(this.#triageByGroup.get(id) ?? NO_TRIAGE, change))
    return this.#group(tally)
  }

  #group(tally: GroupTally): Group {
    const { triage, notes } = this.#triageByGroup.get(tally.id) ?? NO_TRIAGE
    return { ...tally, triage, ...currentTriage(triage, tally.lastSeenAt, this.#clock.now()), notes }
  }
}
