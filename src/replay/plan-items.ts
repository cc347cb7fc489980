import type { ReplayDecision, ReplayItem } from '../ports/replays.ts'

/** The decision on a letter, with the time by which the letters are sorted. */
interface PlannedLetter extends Pick<ReplayItem, 'letterId' | 'decision' | 'reason' | 'fingerprint'> {
  readonly occurredAt: number
}

/**
 * The decisions of a plan. A plan may have a million of them, so they are kept in columns, which take a third of the memory that
 * objects take, and each item is made when it is written.
 */
export class PlanItems implements Iterable<ReplayItem> {
  readonly #endedAt: number
  readonly #letterIds: string[] = []
  readonly #decisions: ReplayDecision[] = []
  readonly #reasons: (string | undefined)[] = []
  readonly #fingerprints: (string | undefined)[] = []
  readonly #occurredAt: number[] = []
  /** The order of sending. */
  #order = new Uint32Array()

  /** `endedAt` is the end of items that are skipped. */
  constructor(endedAt: number) {
    this.#endedAt = endedAt
  }

  add({ letterId, decision, reason, fingerprint, occurredAt }: PlannedLetter): void {
    this.#letterIds.push(letterId)
    this.#decisions.push(decision)
    this.#reasons.push(reason)
    this.#fingerprints.push(fingerprint)
    this.#occurredAt.push(occurredAt)
  }

  get count(): number {
    return this.#letterIds.length
  }

  /** Oldest first, so that handlers see events nearly in their original order. */
  sort(): this {
    const [ids, times] = [this.#letterIds, this.#occurredAt]
    this.#order = Uint32Array.from(ids.keys()).sort(
      (a, b) => times[a]! - times[b]! || (ids[a]! < ids[b]! ? -1 : 1),
    )
    return this
  }

  /** The ids of all letters, in the order of sending. */
  letterIds(): string[] {
    return Array.from(this.#order, at => this.#letterIds[at]!)
  }

  *[Symbol.iterator](): Generator<ReplayItem> {
    for (const [position, at] of this.#order.entries()) {
      const decision = this.#decisions[at]!
      const isSkipped = decision !== 'replay'
      yield {
        letterId: this.#letterIds[at]!,
        decision,
        reason: this.#reasons[at],
        fingerprint: this.#fingerprints[at],
        position,
        status: isSkipped ? 'skipped' : 'waiting',
        endedAt: isSkipped ? this.#endedAt : undefined,
      }
    }
  }

  /** The ids of the letters that are sent. */
  *toSend(): Generator<string> {
    for (const [at, decision] of this.#decisions.entries())
      if (decision === 'replay') yield this.#letterIds[at]!
  }

  /** The number of letters by decision of the gates. The decision on the first letter to send is the first one. */
  findings(): { readonly [D in ReplayDecision]?: number } {
    return countDecisions(this.#sortedDecisions())
  }

  *#sortedDecisions(): Generator<ReplayDecision> {
    for (const at of this.#order) yield this.#decisions[at]!
  }
}

export function countDecisions(decisions: Iterable<ReplayDecision>): {
  readonly [D in ReplayDecision]?: number
} {
  const counts: { [D in ReplayDecision]?: number } = {}
  for (const decision of decisions) counts[decision] = (counts[decision] ?? 0) + 1
  return counts
}
