import { type Clock, settlesWithin } from '../../ports/clock.ts'
import type { Ledger } from '../../ports/ledger.ts'
import type { Notice, Notifier } from '../../ports/notifier.ts'
import { SentNotices } from './sent-notices.ts'

/** A notifier that takes longer is tried again with the next round. */
const TIMEOUT_MS = 30_000
/** The claim of a notice outlasts the attempt to send it. */
const CLAIM_MS = TIMEOUT_MS + 10_000

export interface DeliveryOptions {
  readonly notifier: Notifier | undefined
  /** Of the servers that share this ledger, one sends each notice. */
  readonly ledger: Ledger | undefined
  readonly clock: Clock
  readonly onError: (error: unknown) => void
}

interface Delivery {
  /** What the notice is about. One delivery about it is under way at a time. */
  readonly about: string
  /** Names the notice. All servers name it alike. */
  readonly name: string
  readonly notice: Notice
  /** Called when the notice is sent, by this server or another one. */
  readonly done: () => Promise<void> | void
}

/** Sends notices, each once among the servers of a store. The caller repeats a delivery that fails with its next round. */
export class NoticeDeliveries {
  readonly sentNotices: SentNotices
  readonly #options: DeliveryOptions
  readonly #failures: FailureReporter
  readonly #underWay = new Map<string, Promise<void>>()

  constructor(options: DeliveryOptions) {
    this.#options = options
    this.#failures = new FailureReporter(options.onError)
    this.sentNotices = new SentNotices(options.ledger, CLAIM_MS)
  }

  /** Starts a delivery. While another server sends the notice, this one asks again with its next round. */
  start({ about, name, notice, done }: Delivery): void {
    if (this.#underWay.has(about)) return
    const delivery = this.#failures
      .of(async () => {
        if (await this.sentNotices.sendOnce(name, () => this.#notify(notice))) await done()
      })
      .then(() => void this.#underWay.delete(about))
    this.#underWay.set(about, delivery)
  }

  /** Resolves when no delivery is running. */
  async flush(): Promise<void> {
    await Promise.all(this.#underWay.values())
  }

  async #notify(notice: Notice): Promise<void> {
    const { notifier, clock } = this.#options
    if (notifier === undefined) return
    const delivery = Promise.resolve(notifier.notify(notice))
    if (!(await settlesWithin(clock, TIMEOUT_MS, delivery)))
      throw new Error(`watch: the notifier did not answer within ${TIMEOUT_MS / 1_000} s`)
    await delivery
  }
}

/**
 * Reports a series of failures once: after `tolerated` failures in a row it reports one, and then none until a success.
 * Without it, a store that is down for an hour would fill the log with the same line.
 */
export class FailureReporter {
  readonly #onError: (error: unknown) => void
  readonly #tolerated: number
  #failures = 0

  constructor(onError: (error: unknown) => void, tolerated = 0) {
    this.#onError = onError
    this.#tolerated = tolerated
  }

  /** Runs the work and returns whether it succeeded. */
  async of(work: () => Promise<void>): Promise<boolean> {
    try {
      await work()
      this.#failures = 0
      return true
    } catch (error) {
      if (this.#failures++ === this.#tolerated) this.#onError(error)
      return false
    }
  }
}
