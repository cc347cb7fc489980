import type { Cancel } from '../../ports/clock.ts'
import { type Claim, type Ledger, ledgerName } from '../../ports/ledger.ts'
import type { Observations } from '../../ports/observer.ts'
import { Attempt, AttemptContext } from '../attempt/attempt.ts'
import { type DeadlineLane, deadlinesOf } from '../attempt/deadlines.ts'
import { observe } from '../observe.ts'
import { type Resilient, resilient } from '../resilient/resilient.ts'
import { isInUse } from '../share.ts'
import type { ConsumerPolicy } from './consumer-options.ts'
import type { Work } from './work.ts'

/** The ledger answers each call within so long, or the call has failed. */
const LEDGER_TIMEOUT_MS = 5_000
/** A claim is renewed three times within its lease, so that one lost call costs nothing. */
const RENEWALS_PER_LEASE = 3

/** A claim that is renewed, because its handler runs on after its deadline. */
interface Renewal {
  /** Undefined while the ledger is being asked. */
  cancel: Cancel | undefined
  asking: Promise<void> | undefined
}

/**
 * A consumer's side of the ledger: claim, run, complete. A claim is released when its attempt has failed and its handler has
 * really ended, so that the retry gets it, and completed only after the handler has succeeded.
 */
export class Claims {
  readonly #ledger: Ledger
  readonly #policy: ConsumerPolicy
  /** Of the handler, in the ledger. */
  readonly #name: string
  readonly #lane: DeadlineLane
  readonly #tokens = new WeakMap<Work, string>()
  readonly #renewals = new Map<Work, Renewal>()
  #isClosed = false
  readonly #complete: Resilient<[key: string, token: string], boolean>

  constructor(ledger: Ledger, policy: ConsumerPolicy) {
    this.#ledger = ledger
    this.#policy = policy
    const { clock, random } = policy
    const name = ledgerName(policy.channel, policy.name)
    this.#name = name
    this.#lane = deadlinesOf(clock).lane(LEDGER_TIMEOUT_MS)
    // The effect has happened: that it did must be written down if it can be.
    const complete = (key: string, token: string) =>
      this.#ask('complete', () => ledger.complete(name, key, token))
    this.#complete = resilient(complete, { name: 'ledger', retry: {}, clock, random })
  }

  /** `unknown`: the ledger could not be asked. */
  async claim(work: Work): Promise<Claim | { readonly kind: 'unknown' }> {
    try {
      const claim = await this.#claim(work.event.idempotencyKey)
      if (claim.kind === 'claimed') this.#tokens.set(work, claim.token)
      return claim
    } catch {
      return { kind: 'unknown' }
    }
  }

  /** From now on the claim is renewed until it is completed, released or abandoned. */
  keep(work: Work): void {
    if (!this.#tokens.has(work)) return
    const renewal: Renewal = { cancel: undefined, asking: undefined }
    this.#renewals.set(work, renewal)
    this.#renewNow(work, renewal)
  }

  /**
   * A claim that another process took meanwhile is that one's to complete. If the completion cannot be recorded, the
   * event is still settled: not settling it would run the handler again for certain, while a missing record does so
   * only if the broker delivers the event again.
   */
  async complete(work: Work): Promise<void> {
    if (this.#renewals.size > 0) await this.#stopRenewing(work)
    const token = this.#take(work)
    if (token === undefined || this.#isOver) return
    const { idempotencyKey: key } = work.event
    // A closed consumer makes one attempt only, because `close` must end.
    const completed = this.#isClosed
      ? this.#ask('complete', () => this.#ledger.complete(this.#name, key, token))
      : this.#complete(key, token)
    await completed.catch(() => false)
  }

  /** A claim that cannot be released runs out by itself. */
  async release(work: Work): Promise<void> {
    if (this.#renewals.size > 0) await this.#stopRenewing(work)
    const token = this.#take(work)
    if (token !== undefined && !this.#isOver) await this.#release(work.event.idempotencyKey, token)
  }

  /** Leaves the claim to its lease: its handler runs on after its consumer. It can still be completed or released. */
  abandon(work: Work): void {
    void this.#stopRenewing(work)
  }

  /** The consumer is closed: no claim is renewed any more. */
  close(): void {
    this.#isClosed = true
    for (const work of this.#renewals.keys()) this.abandon(work)
  }

  /** A closed consumer uses its ledger only while somebody else keeps it open. */
  get #isOver(): boolean {
    return this.#isClosed && !isInUse(this.#ledger)
  }

  #renewNow(work: Work, renewal: Renewal): void {
    renewal.cancel = undefined
    renewal.asking = this.#renew(work).then(isHeld => {
      renewal.asking = undefined
      if (!isHeld || this.#renewals.get(work) !== renewal) return
      const { clock, leaseMs } = this.#policy
      renewal.cancel = clock.schedule(leaseMs / RENEWALS_PER_LEASE, () => this.#renewNow(work, renewal))
    })
  }

  /** Whether there is still something to renew. When the ledger cannot be asked, there is until it says otherwise. */
  async #renew(work: Work): Promise<boolean> {
    const { name, leaseMs, channel, observer } = this.#policy
    const { idempotencyKey: key, id: eventId } = work.event
    const token = this.#tokens.get(work)!
    try {
      if (await this.#ask('renew', () => this.#ledger.renew(this.#name, key, token, leaseMs))) return true
      // The lease expired without another claim, the handler's own transaction completed it, or another process has it.
      const claim = await this.#claim(key)
      if (claim.kind === 'claimed') {
        this.#tokens.set(work, claim.token)
        return true
      }
      this.#tokens.delete(work)
      if (claim.kind === 'done') return false
      if (observer.claimLost) observe(observer, 'claimLost', { channel, name, eventId })
      return false
    } catch {
      return true
    }
  }

  async #stopRenewing(work: Work): Promise<void> {
    const renewal = this.#renewals.get(work)
    if (renewal === undefined) return
    this.#renewals.delete(work)
    renewal.cancel?.()
    await renewal.asking
  }

  async #claim(key: string): Promise<Claim> {
    const { leaseMs } = this.#policy
    let isTooLate = false
    try {
      return await this.#ask('claim', async () => {
        const claim = await this.#ledger.claim(this.#name, key, leaseMs)
        // The run has ended, and no other process can claim the event before the lease expires.
        if (isTooLate && claim.kind === 'claimed') void this.#release(key, claim.token)
        return claim
      })
    } catch (error) {
      isTooLate = true
      throw error
    }
  }

  async #release(key: string, token: string): Promise<void> {
    await this.#ask('release', () => this.#ledger.release(this.#name, key, token)).catch(() => false)
  }

  async #ask<T>(operation: Operation, call: () => Promise<T>): Promise<T> {
    const { channel, name, clock, observer } = this.#policy
    let answer: T
    const attempt = new Attempt(new AttemptContext(1), `ledger.${operation}`, LEDGER_TIMEOUT_MS, this.#lane)
    const end = await attempt.run(async () => {
      answer = await call()
    }, clock.now())
    if (end.ok) return answer!
    if (observer.ledgerFailed)
      observe(observer, 'ledgerFailed', { channel, name, operation, error: end.thrown })
    throw end.thrown
  }

  #take(work: Work): string | undefined {
    const token = this.#tokens.get(work)
    this.#tokens.delete(work)
    return token
  }
}

type Operation = Observations['ledgerFailed']['operation']
