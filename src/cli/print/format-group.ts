import type { Masks } from '../../core/dead-letter/masks.ts'
import type { Group } from '../../ports/groups.ts'
import { fieldLines, heading } from './fields.ts'
import { toJson } from './json.ts'
import { safeText } from './safe-text.ts'
import { type Paint, stateColour } from './style.ts'
import { isoAndRelative } from './times.ts'

/** Masks title and basis, because they consist of error messages. */
export function groupJson(group: Group, masks: Masks): unknown {
  const { title, basis } = group
  return toJson({ ...group, title: masks.maskText(title), basis: masks.maskText(basis) })
}

export function formatGroup(group: Group, masks: Masks, now: number, paint: Paint): string {
  const { triage, state, notes } = group
  const say = (text: string) => safeText(masks.maskText(text))
  const set =
    triage.setAt === undefined ? '' : ` since ${isoAndRelative(triage.setAt, now)}, by ${triage.setBy}`
  const until =
    state === 'muted' && triage.mutedUntil !== undefined
      ? ` until ${isoAndRelative(triage.mutedUntil, now)}`
      : ''
  const back = group.regressed ? ', regressed: a new letter arrived after it was resolved' : ''
  return [
    `${paint('bold', `group ${group.id}`)}  ${paint(stateColour(state), state)}\n`,
    fieldLines(
      [
        ['cause', say(group.title)],
        ['category', group.category],
        ['grouped by', `${group.rule}: ${say(group.basis)}`],
        ['channels', group.channels.map(safeText).join(', ')],
        ['letters', `${group.count} (${group.waiting} waiting)`],
        ['replayed', group.replayed === 0 ? '0' : `${group.replayed} (${group.recovered} recovered)`],
        ['first seen', isoAndRelative(group.firstSeenAt, now)],
        ['last seen', isoAndRelative(group.lastSeenAt, now)],
        ['state', safeText(`${state}${until}${back}${state === triage.state ? set : ''}`)],
        ['owner', triage.owner === undefined ? undefined : safeText(triage.owner)],
        ['link', triage.link === undefined ? undefined : safeText(triage.link)],
      ],
      paint,
    ),
    notes.length === 0 ? '' : heading('Notes', paint),
    ...notes.map(({ at, by, text }) => `  ${isoAndRelative(at, now)} ${safeText(by)}: ${safeText(text)}\n`),
  ].join('')
}
