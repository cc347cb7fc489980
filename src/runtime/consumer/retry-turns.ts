import { observeRetryLimited } from '../attempt/after-failure.ts'
import type { LimitedTurn, PendingTurn } from '../shared-limit/fleet-turns.ts'
import type { ConsumerPolicy } from './consumer-options.ts'
import type { Work } from './work.ts'

/** What the retry limit says to a retry. */
type AskedTurn =
  | { readonly kind: 'go' }
  | { readonly kind: 'pending'; readonly turn: PendingTurn }
  | { readonly kind: 'limited'; readonly turn: LimitedTurn }
  /** The retry has no turn. It asks again at that time, and waits in the broker until then. */
  | { readonly kind: 'later'; readonly at: number }

/**
 * Retries in the broker spread over this time. Each process sees only its own part of them, and its clock can be set back,
 * so a longer estimate would be of no use.
 */
const LATER_WITHIN_MS = 60_000
const GO: AskedTurn = Object.freeze({ kind: 'go' })

/**
 * Asks the retry limit for the turns of a consumer. Retries that wait for their turn in process are open deliveries, and
 * new events would wait behind them for a place in the prefetch. So retries take at most half of the prefetch. All others
 * wait in the broker, each for its own time at the pace of the limit, and ask then. They have reserved no turn, because
 * another process may get them: turns that nobody uses would slow down the retries that have one.
 */
export class RetryTurns {
  readonly #policy: ConsumerPolicy
  readonly #maxWaiting: number
  readonly #waiting = new Set<Work>()
  /** The time from which on a retry that waits in the broker may hope for a turn. */
  #laterAt = 0

  constructor(policy: ConsumerPolicy) {
    this.#policy = policy
    this.#maxWaiting = Math.max(1, Math.floor(policy.prefetch / 2))
  }

  ask(work: Work, now: number): AskedTurn {
    const { retryLimit, random, broker } = this.#policy
    if (retryLimit === undefined) return GO
    if (this.#waiting.size >= this.#maxWaiting && broker.capabilities.delay && retryLimit.alwaysDelays) {
      observeRetryLimited(this.#policy, 'wait')
      return { kind: 'later', at: this.#nextLater(retryLimit.intervalMs, now) }
    }
    const turn = retryLimit.ask(now, random)
    if (turn.action === 'go') return GO
    this.#waiting.add(work)
    return turn.action === 'pending' ? { kind: 'pending', turn } : { kind: 'limited', turn }
  }

  /** The delivery no longer waits for a turn. */
  left(work: Work): void {
    this.#waiting.delete(work)
  }

  /** The retries that wait in process have the next turns. */
  #nextLater(intervalMs: number, now: number): number {
    const afterWaiting = now + this.#waiting.size * intervalMs
    const next = this.#laterAt + intervalMs
    this.#laterAt = Math.max(next - now > LATER_WITHIN_MS ? 0 : next, afterWaiting)
    return Math.ceil(this.#laterAt)
  }
}
