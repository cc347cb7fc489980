import type { DeadLetter } from '../core/dead-letter/letter.ts'
import type { ReplayDecision } from '../ports/replays.ts'

/** The facts that the gates use besides the letter. */
interface GateInput {
  readonly now: number
  /** The longest time after the first failure in which an event without `expiresAt` is replayed. */
  readonly maxAgeMs: number
  /** A schedule asks for the replay and not a person. */
  readonly isAutomatic: boolean
  /** The letter is quarantined and the patch changes its payload, so that it is allowed. */
  readonly isEdited: boolean
  /** A person has allowed quarantined letters unchanged, because the cause is fixed. */
  readonly allowQuarantined: boolean
  /** The reason why this process cannot send the letter; undefined if it can. */
  readonly routeFault: string | undefined
  /** The reason why the stored event differs from the sent one; undefined if it does not, or if the payload is replaced. */
  readonly unsendable: string | undefined
  /** The reason why the consumer of the channel cannot take events now; undefined if it can, or if that is unknown. */
  readonly downstreamFault: string | undefined
}

/** The decision on a letter, and the reason if it is skipped. */
export interface GateVerdict {
  readonly decision: ReplayDecision
  readonly reason: string | undefined
}

/** A replay sends letters of the last day by default. A person must ask for older ones, because late events can do harm. */
export const DEFAULT_MAX_AGE_MS = 24 * 60 * 60 * 1_000

const PASSED: GateVerdict = Object.freeze({ decision: 'replay', reason: undefined })

/**
 * Checks a letter against the gates, in this order: state, route, approval, schema, age, downstream. The first gate that
 * refuses decides. The route comes early, because without one neither an approval nor an edit helps. Of the schema gate this
 * is only the part that needs no schema: the schemas are asked about the letters that come so far.
 */
export function passGates(letter: DeadLetter, circumstances: GateInput): GateVerdict {
  const { now, maxAgeMs, isAutomatic, isEdited, allowQuarantined } = circumstances
  const { routeFault, unsendable, downstreamFault } = circumstances
  const { state, event, cycle } = letter
  if (state === 'replaying') return skip('skip_state', 'another replay has sent it and has no outcome yet')
  if (state === 'parked')
    return skip(
      'skip_state',
      `it was replayed ${letter.replays} times and is parked; unpark it to allow another`,
    )
  if (state === 'resolved' || state === 'discarded') return skip('skip_state', `it is ${state}`)
  if (routeFault !== undefined) return skip('skip_unreachable', routeFault)
  if (isAutomatic && letter.autoReplay !== true)
    return skip('skip_unapproved', 'its consumer does not allow automatic replay: a person must replay it')
  if (state === 'quarantined' && !isEdited && !allowQuarantined)
    return skip(
      'skip_unapproved',
      'it is quarantined: edit it, or allow quarantined letters once the cause is fixed',
    )
  if (unsendable !== undefined)
    return skip(
      'skip_schema',
      `the store does not hold it as it was sent (${unsendable}); replace the whole payload to replay it`,
    )
  const worthUntil = event.expiresAt ?? cycle.firstFailedAt + maxAgeMs
  const expiresAt = Math.min(worthUntil, letter.expiresAt ?? worthUntil)
  if (expiresAt <= now) return skip('skip_expired', `it expired at ${new Date(expiresAt).toISOString()}`)
  if (downstreamFault !== undefined) return skip('skip_downstream', downstreamFault)
  return PASSED
}

function skip(decision: ReplayDecision, reason: string): GateVerdict {
  return { decision, reason }
}
