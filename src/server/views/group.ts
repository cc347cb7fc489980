import type { GroupTexts } from '../../operations/mask-group.ts'
import type { Group } from '../../ports/groups.ts'
import { iso, isoOr } from '../schema/common.ts'
import type { Group as GroupJson } from '../schema/groups.ts'
import { pick } from './pick.ts'

/** The last hour of the sparkline is the rate. `texts` are the masked texts of the group. */
export function groupView(
  store: string,
  group: Group,
  sparkline: readonly number[],
  texts: GroupTexts,
): GroupJson {
  const { state, triage } = group
  return {
    ...pick(group, 'id', 'rule', 'category', 'count', 'waiting', 'replayed', 'recovered', 'regressed'),
    ...texts,
    ...pick(triage, 'owner', 'link', 'setBy'),
    store,
    state,
    channels: [...group.channels],
    firstSeenAt: iso(group.firstSeenAt),
    lastSeenAt: iso(group.lastSeenAt),
    // A group that left the state `muted` by itself has no end of mute any more.
    mutedUntil: state === 'muted' ? isoOr(triage.mutedUntil) : undefined,
    setAt: isoOr(triage.setAt),
    notes: group.notes.map(({ at, by, text }) => ({ at: iso(at), by, text })),
    sparkline: [...sparkline],
    rate: sparkline.at(-1) ?? 0,
  }
}
