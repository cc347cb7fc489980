import { hash128 } from '../../core/hash.ts'
import type { Ledger } from '../../ports/ledger.ts'

/** The handler name of all claims in the ledger; the key stands for one notice. */
const LEDGER_HANDLER = 'lazaret alert'

/**
 * Records in the ledger of the store which notices were sent, so that of several servers one sends each notice, and none
 * sends it again. Only a server that dies between sending and recording lets another one send the notice a second time.
 * A store without a ledger has only one server.
 */
export class SentNotices {
  readonly #ledger: Ledger | undefined
  readonly #leaseMs: number

  /** `leaseMs`: longer than sending takes. */
  constructor(ledger: Ledger | undefined, leaseMs: number) {
    this.#ledger = ledger
    this.#leaseMs = leaseMs
  }

  /** Without a ledger the answer is yes: the snapshots alone tell what was sent. */
  async wasSent(notice: string): Promise<boolean> {
    if (this.#ledger === undefined) return true
    const key = hash128(notice)
    const claim = await this.#ledger.claim(LEDGER_HANDLER, key, this.#leaseMs)
    if (claim.kind === 'claimed') await this.#ledger.release(LEDGER_HANDLER, key, claim.token)
    return claim.kind === 'done'
  }

  /** Returns whether the notice is sent now, by this server or another one. Rejects when sending fails. */
  async sendOnce(notice: string, send: () => Promise<void>): Promise<boolean> {
    const ledger = this.#ledger
    if (ledger === undefined) {
      await send()
      return true
    }
    const key = hash128(notice)
    const claim = await ledger.claim(LEDGER_HANDLER, key, this.#leaseMs)
    if (claim.kind !== 'claimed') return claim.kind === 'done'
    try {
      await send()
    } catch (error) {
      await ledger.release(LEDGER_HANDLER, key, claim.token).catch(() => false)
      throw error
    }
    // The notice is sent, also when the store does not learn of it.
    await ledger.complete(LEDGER_HANDLER, key, claim.token).catch(() => false)
    return true
  }
}
