import { withAudit } from '../adapter-kit/with-audit.ts'
import type { TriageState } from '../core/dead-letter/group.ts'
import type { JsonValue } from '../core/event/event.ts'
import { givenFields } from '../core/options/merge.ts'
import type { Group, TriageChange } from '../ports/groups.ts'
import type { Store } from '../ports/store.ts'

const ACTIONS: Readonly<Record<TriageState, string>> = {
  open: 'group.open',
  acknowledged: 'group.ack',
  muted: 'group.mute',
  resolved: 'group.resolve',
}

/** What a person says about a group, and that they said it. Answers undefined when it has no letters any more. */
export async function triageGroup(
  store: Store,
  id: string,
  change: TriageChange,
): Promise<Group | undefined> {
  if ((await store.groups.get(id)) === undefined) return undefined
  const { at, by, state, owner, link, note, mutedUntil } = change
  const said = { owner, link, note, mutedUntil: mutedUntil && new Date(mutedUntil).toISOString() }
  const detail = givenFields(said)
  const entry = {
    at,
    by,
    action: state === undefined ? 'group.edit' : ACTIONS[state],
    target: id,
    detail: detail as Readonly<Record<string, JsonValue>>,
  }
  return await withAudit(store.audit, entry, () => store.groups.change(id, change))
}
