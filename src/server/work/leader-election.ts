import type { Cancel, Clock } from '../../ports/clock.ts'
import type { Ledger } from '../../ports/ledger.ts'

const LEASE_MS = 30_000
/** Thrice in a lease: one that is late, or does not get through, costs nobody their turn. */
const POLL_EVERY_MS = LEASE_MS / 3
/** The name that servers claim under; what they claim is the key. */
const LEDGER_HANDLER = 'lazaret server'

/** What one server does at a time. `stop` resolves when nothing of it is under way any more. */
export interface LeaderTask {
  readonly name: string
  start(): void
  stop(): Promise<void>
}

/** Starts a duty in one server of all that share the ledger; the function returned ends it. */
export function runOnLeader(task: LeaderTask, ledger: Ledger | undefined, clock: Clock): () => Promise<void> {
  // A store without a ledger is a folder of files, which has one server.
  if (ledger === undefined) {
    task.start()
    return () => task.stop()
  }
  const standby = new LeaderElection(task, ledger, clock)
  standby.start()
  return () => standby.stop()
}

/**
 * Of all servers that share a store, one has the duty and the others stand by:
 *
 *   standing by ─claimed▶ on duty ─lease lost, or not renewed in time▶ stopping ─▶ standing by
 *
 * The lease is a claim in the store's ledger. A server that cannot renew it stops before the lease can have run out, so
 * that two servers never have the duty at once.
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

  /** The next one can go on at once. */
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
      // The store is away. If it stays away, it is not held any more.
    }
  }

  async #claim(): Promise<void> {
    const claim = await this.#ledger.claim(LEDGER_HANDLER, this.#task.name, LEASE_MS)
    if (claim.kind !== 'claimed') return
    this.#token = claim.token
    this.#scheduleStop()
    this.#task.start()
  }

  /** Long enough before the lease can have run out, there is time to stop. */
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
