import type { DeadLetter } from '../core/dead-letter/letter.ts'
import type { ReplayDecision } from '../ports/replays.ts'

/** What the gates look at beside the letter itself. */
interface GateInput {
  readonly now: number
  /** An event without a time to live of its own is replayed no later than this after it first failed. */
  readonly maxAgeMs: number
  /** The payload is edited, so that even a quarantined letter is allowed. */
  readonly isEdited: boolean
  /** A person has allowed quarantined letters unchanged, because the cause is fixed. */
  readonly allowQuarantined: boolean
  /** Why nothing here can send it; undefined when something can. */
  readonly routeFault: string | undefined
  /** Why the event as it is kept is not what was sent; undefined when it is, or when the payload is replaced. */
  readonly unsendable: string | undefined
  /** What is wrong with the payload as it would be sent; undefined when it fits, or when nobody knows its schema. */
  readonly schemaFault: string | undefined
  /** Why the consumer of its channel cannot take it now; undefined when it can, or when nobody knows. */
  readonly downstreamFault: string | undefined
}

interface GateVerdict {
  readonly decision: ReplayDecision
  readonly why: string | undefined
}

/** Replays are for what failed today; who wants to send older events again says so. */
export const DEFAULT_MAX_AGE_MS = 24 * 60 * 60 * 1_000

const PASSED: GateVerdict = Object.freeze({ decision: 'replay', why: undefined })

/**
 * Each letter passes the gates in this order, and the first that is shut decides: state, way back, approval, schema, age,
 * downstream. The way back comes early: without one, no approval and no edit of the letter helps.
 */
export function passGates(letter: DeadLetter, circumstances: GateInput): GateVerdict {
  const { now, maxAgeMs, isEdited, allowQuarantined } = circumstances
  const { routeFault, unsendable, schemaFault, downstreamFault } = circumstances
  const { state, event, cycle } = letter
  if (state === 'replaying')
    return skip('skip_state', 'another replay has sent it and has no outcome yet')
  if (state === 'parked')
    return skip(
      'skip_state',
      `it was replayed ${letter.replays} times and is parked; unpark it to allow another`,
    )
  if (state === 'resolved' || state === 'discarded') return skip('skip_state', `it is ${state}`)
  if (routeFault !== undefined) return skip('skip_unreachable', routeFault)
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
  if (schemaFault !== undefined) return skip('skip_schema', schemaFault)
  const expiresAt = event.expiresAt ?? cycle.firstFailedAt + maxAgeMs
  if (expiresAt <= now) return skip('skip_expired', `it expired at ${new Date(expiresAt).toISOString()}`)
  if (downstreamFault !== undefined) return skip('skip_downstream', downstreamFault)
  return PASSED
}

function skip(decision: ReplayDecision, why: string): GateVerdict {
  return { decision, why }
}
