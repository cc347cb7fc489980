import { LazaretError } from '../core/failure/errors.ts'
import type { GateCheck, ReplayDecision, ReplayItem } from '../ports/replays.ts'
import { countDecisions } from './plan-items.ts'

type Skip = Exclude<ReplayDecision, 'replay'>

/** Each continues the number of letters. */
const SKIP_TEXTS: Readonly<Record<Skip, string>> = {
  skip_state: 'already replaying, parked, resolved or discarded',
  skip_unreachable: 'without a replay target here',
  skip_unapproved: 'quarantined, or not allowed for automatic replay',
  skip_schema: 'with a payload that the schema refuses or nobody checked',
  skip_expired: 'over the age limit',
  skip_downstream: 'with a consumer that is paused or has an open breaker',
}

/**
 * No letter of the plan can be sent, so the plan was not stored. The message counts the letters by decision. It quotes no
 * reason of a single letter, because the reason can quote a payload.
 */
export class EmptyPlanError extends LazaretError {
  override readonly name = 'EmptyPlanError'
  /** The number of letters by decision; empty when no letter matches. */
  readonly findings: { readonly [D in ReplayDecision]?: number }
  /** The message without the counts. */
  readonly refusal: string
  // Private, so that a log that prints all properties of an error does not print payloads.
  readonly #skipped: readonly ReplayItem[]
  readonly #checks: readonly GateCheck[]

  constructor(skipped: readonly ReplayItem[], checks: readonly GateCheck[] = []) {
    const findings = countDecisions(skipped.map(({ decision }) => decision))
    const refusal = `${refusalOf(skipped.length)}; nothing was planned`
    super(`${refusal}${reasonsOf(findings)}`, {
      code: 'LAZARET_REPLAY_EMPTY',
      retryable: false,
    })
    this.findings = findings
    this.refusal = refusal
    this.#skipped = skipped
    // A person who plans here knows what this process says.
    this.#checks = checks.filter(
      ({ gate, answer }) => findings[`skip_${gate}`] !== undefined && answer.answeredBy !== 'planner',
    )
  }

  /** The selected letters with the decisions and the reasons. A reason can quote a payload: mask it before you show it. */
  get skipped(): readonly ReplayItem[] {
    return this.#skipped
  }

  /** Whose word the gates had that refused letters, if it was not that of this process. */
  get checks(): readonly GateCheck[] {
    return this.#checks
  }
}

function refusalOf(count: number): string {
  if (count === 0) return 'no letter matches'
  return count === 1 ? 'the letter cannot be sent' : `none of the ${count} letters can be sent`
}

function reasonsOf(findings: EmptyPlanError['findings']): string {
  const reasons = Object.entries(findings).map(
    ([decision, count]) => `${count} ${SKIP_TEXTS[decision as Skip]}`,
  )
  return reasons.length === 0 ? '' : `: ${reasons.join(', ')}`
}
