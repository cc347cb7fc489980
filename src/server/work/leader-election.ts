import type { Cancel, Clock } from '../../ports/clock.ts'
import type { Ledger } from '../../ports/ledger.ts'

const LEASE_MS = 30_000
/** Three renewals per lease, so that one late or failed renewal does not lose the lease. */
const POLL_EVERY_MS = LEASE_MS / 3
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
  #token: string | undefined
  #cancelRenewal: Cancel | undefined
  #cancelStop: Cancel | undefined
  #renewal: Promise<void> = Promise.resolve()
  #isStopped = false

  constructor(task: LeaderTask, ledger: Ledger, clock: Clock) {
    this.#task = task
    this.#ledger = ledger
    this.#clock = clock
  }

  start(): void {
    this.#renewal = this.#renewOrClaim().finally(() => {
      if (!this.#isStopped) this.#cancelRenewal = this.#clock.schedule(POLL_EVERY_MS, () => this.start())
    })
  }

  /** Stops the task and releases the lease, so that another server can take over at once. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#cancelRenewal?.()
    await this.#renewal
    const token = this.#token
    if (token === undefined) return
    await this.#stop()
    await this.#ledger.release(LEDGER_HANDLER, this.#task.name, token).catch(() => false)
  }

  async #renewOrClaim(): Promise<void> {
    const token = this.#token
    try {
      if (token === undefined) await this.#claim()
      else if (!(await this.#ledger.renew(LEDGER_HANDLER, this.#task.name, token, LEASE_MS)))
        await this.#stop()
      else if (this.#token === token) this.#scheduleStop()
    } catch {
      // The store is unreachable. Unless a renewal succeeds in time, the scheduled stop ends the task.
    }
  }

  async #claim(): Promise<void> {
    const claim = await this.#ledger.claim(LEDGER_HANDLER, this.#task.name, LEASE_MS)
    if (claim.kind !== 'claimed') return
    this.#token = claim.token
    this.#scheduleStop()
    this.#task.start()
  }

  /** Schedules the stop early enough that the task has ended before the lease does. */
  #scheduleStop(): void {
    this.#cancelStop?.()
    this.#cancelStop = this.#clock.schedule(LEASE_MS - POLL_EVERY_MS, () => void this.#stop())
  }

  async #stop(): Promise<void> {
    this.#cancelStop?.()
    this.#token = undefined
    await this.#task.stop()
  }
}
