import type { GroupTexts } from '../../operations/mask-group.ts'
import type { Group } from '../../ports/groups.ts'
import { iso, isoOr } from '../schema/common.ts'
import type { Group as GroupJson } from '../schema/groups.ts'

/** The last hour of the sparkline is the rate. `texts` are the masked texts of the group. */
export function groupView(
  store: string,
  group: Group,
  sparkline: readonly number[],
  texts: GroupTexts,
): GroupJson {
  const { category, channels, count, waiting, replayed, recovered, state, regressed, triage, notes } = group
  return {
    id: group.id,
    rule: group.rule,
    ...texts,
    store,
    category,
    channels: [...channels],
    count,
    waiting,
    firstSeenAt: iso(group.firstSeenAt),
    lastSeenAt: iso(group.lastSeenAt),
    replayed,
    recovered,
    state,
    regressed,
    owner: triage.owner,
    link: triage.link,
    // A group that left the state `muted` by itself has no end of mute any more.
    mutedUntil: state === 'muted' ? isoOr(triage.mutedUntil) : undefined,
    setAt: isoOr(triage.setAt),
    setBy: triage.setBy,
    notes: notes.map(({ at, by, text }) => ({ at: iso(at), by, text })),
    sparkline: [...sparkline],
    rate: sparkline.at(-1) ?? 0,
  }
}
