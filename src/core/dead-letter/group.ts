import { hash128 } from '../hash.ts'
import type { DeadLetter } from './letter.ts'
import { reasonText } from './reason.ts'

/** The identity of a group, with the text that explains to a person why its letters belong together. */
export interface Grouping {
  /** The id of a fingerprint. For letters without an attempt it is made from their reason. */
  readonly id: string
  readonly title: string
  readonly rule: 'explicit' | 'frame' | 'message' | 'reason'
  /** The text that was hashed to the id. */
  readonly basis: string
}

const ID_DIGITS = 16
const TITLE_LENGTH = 200

/** The group of a letter. The failure of the current cycle decides it. */
export function groupingOf(letter: DeadLetter): Grouping {
  const { failure, reason } = letter.cycle
  if (failure === undefined) {
    const basis = `reason ${reason}, handler ${letter.handler}`
    return { id: hash128(basis).slice(0, ID_DIGITS), title: reasonText(reason), rule: 'reason', basis }
  }
  const { id, rule, basis } = failure.fingerprint
  const [firstLine = ''] = failure.message.split('\n')
  return { id, title: `${failure.name}: ${firstLine}`.slice(0, TITLE_LENGTH), rule, basis }
}

/**
 * What people decided about a group.
 * - `open`: not triaged yet, or regressed.
 * - `acknowledged`: a person works on it.
 * - `muted`: known and not worth an alert until `mutedUntil`; then it is open again.
 * - `resolved`: the cause is fixed; a letter that fails later reopens the group as a regression.
 */
export const TRIAGE_STATES = ['open', 'acknowledged', 'muted', 'resolved'] as const
/** What people decided about a group: `open`, `acknowledged`, `muted` or `resolved`. */
export type TriageState = (typeof TRIAGE_STATES)[number]

/** The decision of people about a group, with its owner and link. */
export interface Triage {
  readonly state: TriageState
  readonly owner?: string | undefined
  readonly link?: string | undefined
  readonly mutedUntil?: number | undefined
  /** When the state was set, and by whom. */
  readonly setAt?: number | undefined
  readonly setBy?: string | undefined
}

export const UNTRIAGED: Triage = Object.freeze({ state: 'open' })

/** The state at this moment. Muting ends by itself, and a failure after the resolution opens the group again. */
export function currentTriage(
  triage: Triage,
  lastSeenAt: number,
  now: number,
): { readonly state: TriageState; readonly regressed: boolean } {
  const { state, mutedUntil, setAt = 0 } = triage
  if (state === 'muted' && mutedUntil !== undefined && mutedUntil <= now)
    return { state: 'open', regressed: false }
  if (state === 'resolved' && lastSeenAt > setAt) return { state: 'open', regressed: true }
  return { state, regressed: false }
}
