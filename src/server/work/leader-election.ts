import { claimLease, type HeldLease, RENEW_MS } from '../../operations/held-lease.ts'
import type { Cancel, Clock } from '../../ports/clock.ts'
import type { Ledger } from '../../ports/ledger.ts'

/** The handler name of all claims in the ledger; the key is the name of the task. */
const LEDGER_HANDLER = 'lazaret server'

/** A task that only one server may run at a time. `stop` resolves when no part of it is running. */
export interface LeaderTask {
  readonly name: string
  start(): void
  stop(): Promise<void>
}

/** Runs a task in one of the servers that share the ledger. The returned function stops it. */
export function runOnLeader(task: LeaderTask, ledger: Ledger | undefined, clock: Clock): () => Promise<void> {
  // A store without a ledger is a folder of files, and only one server can use it.
  if (ledger === undefined) {
    task.start()
    return () => task.stop()
  }
  const standby = new LeaderElection(task, ledger, clock)
  standby.start()
  return () => standby.stop()
}

/**
 * Elects one leader among the servers that share a store; the others stand by:
 *
 *   standby ─claimed▶ leader ─lease lost, or not renewed in time▶ stopping ─▶ standby
 *
 * The lease is a claim in the ledger of the store. A leader that cannot renew the lease stops before the lease ends, so
 * that two servers never run the task at once.
 */
export class LeaderElection {
  readonly #task: LeaderTask
  readonly #ledger: Ledger
  readonly #clock: Clock
  #lease: HeldLease | undefined
  #cancelClaim: Cancel | undefined
  /** The claim or the stop under way. */
  #step: Promise<void> = Promise.resolve()
  #isStopped = false

  constructor(task: LeaderTask, ledger: Ledger, clock: Clock) {
    this.#task = task
    this.#ledger = ledger
    this.#clock = clock
  }

  start(): void {
    // When the store is unreachable, the server stands by and asks again.
    this.#step = this.#claim()
      .catch(() => {})
      .then(() => this.#standBy())
  }

  /** Stops the task and releases the lease, so that another server can take over at once. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#cancelClaim?.()
    await this.#step
    const lease = this.#lease
    if (lease === undefined) return
    this.#lease = undefined
    await this.#task.stop()
    await lease.release().catch(() => {})
  }

  #standBy(): void {
    if (this.#isStopped || this.#lease !== undefined) return
    this.#cancelClaim = this.#clock.schedule(RENEW_MS, () => this.start())
  }

  async #claim(): Promise<void> {
    const name = { handler: LEDGER_HANDLER, key: this.#task.name }
    const answer = await claimLease(this.#ledger, name, this.#clock)
    if (answer.kind !== 'claimed') return
    this.#lease = answer.lease
    answer.lease.lost.addEventListener('abort', () => this.#standDown())
    this.#task.start()
  }

  #standDown(): void {
    if (this.#lease === undefined) return
    this.#lease = undefined
    this.#step = this.#task.stop().finally(() => this.#standBy())
  }
}
