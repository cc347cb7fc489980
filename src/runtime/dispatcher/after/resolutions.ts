import { lastSendingOf } from '../../../core/dead-letter/change.ts'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import { LazaretError } from '../../../core/failure/errors.ts'
import { type Cancel, settlesWithin } from '../../../ports/clock.ts'
import type { LetterChange } from '../../../ports/dead-letters.ts'
import { TimeoutError } from '../../attempt/attempt.ts'
import { isStore, SAVE_TIMEOUT_MS } from '../../letter-saver.ts'
import type { DispatcherPolicy } from '../dispatcher-options.ts'
import { observeAsOwn } from '../track/own-context.ts'

const RETRY_MS = 500
const RETRY_MAX_MS = 30_000
/** Letters that wait for their store. */
const MAX_HELD = 10_000

/**
 * Resolves the letters whose events their sinks have. A letter that the store does not resolve now is tried again until the
 * dispatcher closes: only this process knows the outcome, and a replay waits for it while the process lives.
 */
export class Resolutions {
  readonly #policy: Pick<DispatcherPolicy, 'deadLetters' | 'clock' | 'observer'>
  readonly #held = new Map<string, DeadLetter>()
  #retryMs = RETRY_MS
  #cancelRetry: Cancel | undefined
  #isClosed = false

  constructor(policy: Pick<DispatcherPolicy, 'deadLetters' | 'clock' | 'observer'>) {
    this.#policy = policy
  }

  /** Never rejects: the event is delivered, whether or not the letter can be resolved now. */
  async resolve(letter: DeadLetter): Promise<void> {
    if (!isStore(this.#policy.deadLetters) || (await this.#try(letter))) return
    if (this.#isClosed || this.#held.size >= MAX_HELD) return
    this.#held.set(letter.id, letter)
    this.#scheduleRetry()
  }

  /** Tries the letters that are left once more. */
  async close(limitMs: number): Promise<void> {
    this.#cancelRetry?.()
    if (this.#held.size > 0) await settlesWithin(this.#policy.clock, limitMs, this.#retryHeld())
    this.#isClosed = true
    this.#cancelRetry?.()
    this.#held.clear()
  }

  /** Whether nothing is left to do. */
  async #try(letter: DeadLetter): Promise<boolean> {
    const { clock, observer } = this.#policy
    const { id, channel, handler: name, state } = letter
    // A letter that is not replaying was sent by a person, and the send counts as the decision.
    const onlyIfSentBy = state === 'replaying' ? lastSendingOf(letter) : undefined
    try {
      await this.#change(id, { to: 'resolved', at: clock.now(), onlyIfSentBy })
      return true
    } catch (error) {
      if (observer.letterWriteFailed)
        observeAsOwn(observer, 'letterWriteFailed', { channel, name, error, letter })
      const isFinal = error instanceof LazaretError && !error.retryable
      // Without the condition a late change could undo what a person decided meanwhile.
      return isFinal || onlyIfSentBy === undefined
    }
  }

  async #change(id: string, change: LetterChange): Promise<void> {
    const { deadLetters, clock } = this.#policy
    if (!isStore(deadLetters)) return
    const changing = deadLetters.change(id, change)
    const isSettled = await settlesWithin(clock, SAVE_TIMEOUT_MS, changing)
    if (!isSettled) throw new TimeoutError('dead-letter store', SAVE_TIMEOUT_MS)
    await changing
  }

  #scheduleRetry(): void {
    if (this.#cancelRetry !== undefined || this.#held.size === 0 || this.#isClosed) return
    this.#cancelRetry = this.#policy.clock.schedule(this.#retryMs, () => {
      this.#retryMs = Math.min(RETRY_MAX_MS, this.#retryMs * 2)
      void this.#retryHeld().then(() => {
        this.#cancelRetry = undefined
        this.#scheduleRetry()
      })
    })
  }

  /** One after the other, and only as long as the store takes them. */
  async #retryHeld(): Promise<void> {
    for (const letter of [...this.#held.values()]) {
      if (this.#isClosed || !(await this.#try(letter))) return
      this.#retryMs = RETRY_MS
      if (this.#held.get(letter.id) === letter) this.#held.delete(letter.id)
    }
  }
}
