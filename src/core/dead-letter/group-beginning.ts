import type { DeadLetter } from './letter.ts'

/** The earliest known time of a release, and what shows it: a process that started, or a letter that a process gave up on. */
export interface ReleaseMark {
  readonly release: string
  readonly at: number
  readonly seenBy: 'process' | 'letter'
}

/** The release with which a group began. */
export interface GroupBeginning {
  readonly release: string
  /** How long after the earliest known time of the release the group first failed. */
  readonly afterMs: number
  /** What the earliest known time is: the start of a process, or the failure of a letter. */
  readonly since: ReleaseMark['seenBy']
}

/** A process that handles the events of the group, or did. */
interface StartedProcess {
  readonly release?: string | undefined
  readonly startedAt: number
}

/** What is known about the time around the first failure of a group. All letters are of one channel and handler. */
interface BeginningEvidence {
  /** The letter of the group that failed first. */
  readonly first: DeadLetter
  /** Letters of any group whose last failure is before that, newest first. */
  readonly before: readonly DeadLetter[]
  /** Whether there are older letters than those of `before`. */
  readonly hasOlder: boolean
  readonly processes: readonly StartedProcess[]
}

/** Later than this, a new failure is hardly the work of the release. */
const MAX_AFTER_MS = 24 * 3_600_000

/**
 * Says with which release a group began, or nothing: a person at night acts on it. All of this must hold:
 *
 * - The release that gave up on the first letter is known, and the letter was not replayed since: a replay overwrites it.
 * - The earliest known time of that release is before the first failure, and not by more than a day.
 * - Another release was there before that time. Without one, nobody knows whether the group is older than the release.
 */
export function beginningOf(evidence: BeginningEvidence): GroupBeginning | undefined {
  const { first, before, hasOlder, processes } = evidence
  const { release, cycle } = first
  if (release === undefined || first.endedCycles.length > 0) return undefined
  const mark = earliestOf(release, [first, ...before], processes)
  if (mark === undefined) return undefined
  const oldest = before.at(-1)
  // Older letters, which were not read, may be of this release too.
  if (hasOlder && oldest !== undefined && mark.at >= oldest.cycle.lastFailedAt && oldest.release === release)
    return undefined
  const afterMs = cycle.firstFailedAt - mark.at
  if (afterMs < 0 || afterMs > MAX_AFTER_MS) return undefined
  const isOther = (other: string | undefined) => other !== undefined && other !== release
  const wasThereBefore =
    before.some(each => isOther(each.release) && each.cycle.lastFailedAt < mark.at) ||
    processes.some(each => isOther(each.release) && each.startedAt < mark.at)
  return wasThereBefore ? { release, afterMs, since: mark.seenBy } : undefined
}

/** The earliest known time of each release, in the order of time. */
export function releaseMarks(
  letters: readonly DeadLetter[],
  processes: readonly StartedProcess[],
): readonly ReleaseMark[] {
  const releases = new Set([...letters, ...processes].flatMap(({ release }) => release ?? []))
  return [...releases]
    .map(release => earliestOf(release, letters, processes)!)
    .sort((a, b) => a.at - b.at || (a.release < b.release ? -1 : 1))
}

/**
 * A letter has the release that gave up on it. Its first attempts may have run in an earlier one, so only its last failure
 * is certain to be of that release.
 */
function earliestOf(
  release: string,
  letters: readonly DeadLetter[],
  processes: readonly StartedProcess[],
): ReleaseMark | undefined {
  const marks: ReleaseMark[] = [
    ...processes
      .filter(each => each.release === release)
      .map(({ startedAt }) => ({ release, at: startedAt, seenBy: 'process' as const })),
    ...letters
      .filter(each => each.release === release)
      .map(({ cycle }) => ({ release, at: cycle.lastFailedAt, seenBy: 'letter' as const })),
  ]
  return marks.reduce<ReleaseMark | undefined>(
    (earliest, mark) => (earliest === undefined || mark.at < earliest.at ? mark : earliest),
    undefined,
  )
}
