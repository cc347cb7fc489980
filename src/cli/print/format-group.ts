import type { GroupBeginning } from '../../core/dead-letter/group-beginning.ts'
import type { Masks } from '../../core/dead-letter/masks.ts'
import { SEPARATION_MIN_LETTERS } from '../../core/dead-letter/separating-fields.ts'
import type { GroupDifferences } from '../../operations/group-differences.ts'
import type { GroupTimeline } from '../../operations/group-timeline.ts'
import type { Group } from '../../ports/groups.ts'
import { fieldLines, heading } from './fields.ts'
import { toJson } from './json.ts'
import { safeText } from './safe-text.ts'
import { type Paint, stateColour } from './style.ts'
import { isoAndRelative, spanText } from './times.ts'

/** What the letters of a group show about its cause. */
export interface GroupInsight {
  readonly timeline: GroupTimeline
  readonly differences: GroupDifferences
}

/** Masks title and basis, because they consist of error messages. */
export function groupJson(group: Group, masks: Masks, insight?: GroupInsight): unknown {
  const { title, basis } = group
  return toJson({ ...group, title: masks.maskText(title), basis: masks.maskText(basis), ...insight })
}

export function formatGroup(
  group: Group,
  masks: Masks,
  now: number,
  paint: Paint,
  insight?: GroupInsight,
): string {
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
        ['began', insight?.timeline.began && beganText(insight.timeline.began)],
        ['state', safeText(`${state}${until}${back}${state === triage.state ? set : ''}`)],
        ['owner', triage.owner === undefined ? undefined : safeText(triage.owner)],
        ['link', triage.link === undefined ? undefined : safeText(triage.link)],
      ],
      paint,
    ),
    insight === undefined ? '' : releaseLines(insight.timeline, now, paint),
    insight === undefined ? '' : differenceLines(insight.differences, paint),
    notes.length === 0 ? '' : heading('Notes', paint),
    ...notes.map(({ at, by, text }) => `  ${isoAndRelative(at, now)} ${safeText(by)}: ${safeText(text)}\n`),
  ].join('')
}

function beganText({ release, afterMs, since }: GroupBeginning): string {
  const what = since === 'process' ? 'its first process started' : 'its first failure'
  const when = afterMs === 0 ? 'with its first failure' : `${spanText(afterMs)} after ${what}`
  return `with release ${safeText(release)}, ${when}`
}

function releaseLines({ releases }: GroupTimeline, now: number, paint: Paint): string {
  if (releases.length === 0) return ''
  const lines = releases.map(({ release, at, seenBy }) => {
    const what = seenBy === 'process' ? 'process started' : 'first failure'
    return `  ${safeText(release)}: ${what} ${isoAndRelative(at, now)}\n`
  })
  return [heading('Releases since the first failure', paint), ...lines].join('')
}

/** Nothing where there are too few letters of either kind to say anything. */
function differenceLines({ fields, failed, recovered }: GroupDifferences, paint: Paint): string {
  if (Math.min(failed, recovered) < SEPARATION_MIN_LETTERS) return ''
  const lines = fields.map(({ field, value, ...having }) => {
    const what = value === undefined ? `${field} is missing` : `${field} = ${value}`
    return `  ${safeText(what)}: failed ${having.failed} of ${failed}, recovered ${having.recovered} of ${recovered}\n`
  })
  const none = `  no field separates ${failed} failed and ${recovered} recovered letters\n`
  return [
    heading('What failed and recovered letters differ in', paint),
    ...(lines.length === 0 ? [none] : lines),
  ].join('')
}
