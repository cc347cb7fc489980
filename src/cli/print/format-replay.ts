import { describeFilter } from '../../operations/filter-text.ts'
import type { Replay, ReplayCounts, ReplayDecision, ReplayItem } from '../../ports/replays.ts'
import { mostFrequentReasons } from '../../server/views/item-reasons.ts'
import { counted, fieldLines, heading } from './fields.ts'
import { checkLines } from './format-checks.ts'
import { safeText } from './safe-text.ts'
import { type Paint, stateColour } from './style.ts'
import { isoAndRelative, spanText } from './times.ts'

interface ReplayFormatOptions {
  readonly now: number
  readonly paint: Paint
}

const DECISION_TEXTS: Readonly<Record<ReplayDecision, string>> = {
  replay: 'will be sent',
  skip_state: 'skipped: not allowed in this state',
  skip_unreachable: 'skipped: no replay target here',
  skip_unapproved: 'skipped: quarantined, add --allow-quarantined',
  skip_schema: 'skipped: payload refused by the schema, or not checked',
  skip_expired: 'skipped: over the age limit',
  skip_downstream: 'skipped: consumer paused or breaker open',
}

/** Formats a masked replay for a person: plan, decisions of the gates, outcomes. */
export function formatReplay(
  replay: Replay,
  counts: ReplayCounts | undefined,
  findings: readonly string[],
  { now, paint }: ReplayFormatOptions,
): string {
  const { selectedBy, halt, patch } = replay
  const selected =
    selectedBy.ids === undefined
      ? describeFilter(defined(selectedBy.filter))
      : counted(selectedBy.ids.length, 'id')
  const same = halt.onSameFingerprint ? ', or if the first letters fail with the same cause again' : ''
  const approval = replay.needsApproval
    ? replay.approvedBy === undefined
      ? 'needed'
      : `by ${safeText(replay.approvedBy)}, ${isoAndRelative(replay.approvedAt ?? now, now)}`
    : undefined
  return [
    `${paint('bold', `replay ${replay.id}`)}  ${paint(stateColour(replay.state), replay.state)}\n`,
    fieldLines(
      [
        ['reason', safeText(replay.reason)],
        ['planned', `${isoAndRelative(replay.createdAt, now)} by ${safeText(replay.createdBy)}`],
        ['letters', `${replay.count}  (${safeText(selected)})`],
        ['hash', replay.hash],
        ['stages', `${replay.stages.join(', ')} at ${replay.perSecond} per second`],
        ['halts', `if more than ${Math.round(halt.refailRatio * 100)} % fail again${same}`],
        ['max age', spanText(replay.maxAgeMs)],
        ['to', replay.to === undefined ? undefined : `channel ${safeText(replay.to)}`],
        ['overlaps', overlapText(replay)],
        ['approval', approval],
        ['started', replay.startedAt === undefined ? undefined : isoAndRelative(replay.startedAt, now)],
        ['ended', replay.endedAt === undefined ? undefined : isoAndRelative(replay.endedAt, now)],
        ['problem', problemText(replay, now)],
        [
          'note',
          replay.stateReason === undefined
            ? undefined
            : safeText(`${replay.stateReason}${replay.by === undefined ? '' : ` (${replay.by})`}`),
        ],
      ],
      paint,
    ),
    patch === undefined ? '' : heading('Patch', paint),
    ...(patch ?? []).map(operation => `  ${safeText(JSON.stringify(operation))}\n`),
    heading('Gates', paint),
    ...findings,
    ...checkLines(replay.checks ?? [], now),
    counts === undefined ? '' : heading('Outcomes', paint) + fieldLines(outcomes(counts), paint),
  ].join('')
}

/** Why nobody sends the letters. */
function problemText({ problem }: Replay, now: number): string | undefined {
  return problem && `${safeText(problem.reason)}, since ${isoAndRelative(problem.since, now)}`
}

function overlapText({ overlaps }: Replay): string | undefined {
  return overlaps
    ?.map(({ replayId, count }) => `${counted(count, 'letter')} also in replay ${replayId}`)
    .join(', ')
}

/** One line per decision of the gates. The gates run again before each send, so later decisions are added. */
export async function findingLines(
  { findings }: Pick<Replay, 'findings'>,
  skipped: readonly ReplayItem[],
  maskReason: (item: ReplayItem) => Promise<string | undefined>,
): Promise<string[]> {
  const later = new Map<string, number>()
  for (const { decision } of skipped)
    if (findings[decision] === undefined) later.set(decision, (later.get(decision) ?? 0) + 1)
  const lines = [...Object.entries(findings), ...later].map(async ([decision, letters]) => {
    const says = DECISION_TEXTS[decision as ReplayDecision] ?? decision
    const items = skipped.filter(item => item.decision === decision)
    return `  ${counted(letters, 'letter')} ${says}${reasonText(await mostFrequentReasons(items, maskReason))}\n`
  })
  return Promise.all(lines)
}

/** A single reason follows on the same line, several reasons below it. */
function reasonText(told: readonly { readonly reason: string; readonly count: number }[]): string {
  if (told.length <= 1) return told.map(({ reason }) => ` (${safeText(reason)})`).join('')
  return told.map(({ reason, count }) => `\n    ${count} × ${safeText(reason)}`).join('')
}

function outcomes(counts: ReplayCounts): [string, string][] {
  return Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([status, count]) => [status.replaceAll('_', ' '), String(count)])
}

function defined<T extends object>(filter: T | undefined): Partial<T> {
  return Object.fromEntries(
    Object.entries(filter ?? {}).filter(([, value]) => value !== undefined),
  ) as Partial<T>
}
