import { type Cancel, type Clock, settlesWithin } from '../../ports/clock.ts'
import { FailureReporter } from './notice-deliveries.ts'

/** A round that takes longer is abandoned until the next one. */
const TIMEOUT_MS = 60_000
/** One failed round is not reported. */
const TOLERATED = 1

interface RoundOptions {
  readonly everyMs: number
  readonly clock: Clock
  /** Runs one round. It may return its own wait before the next round. */
  readonly run: (signal: AbortSignal) => Promise<number | undefined>
  readonly onError: (error: unknown) => void
}

/** Runs a round at every interval, one at a time. A failed round is repeated when the next one is due. */
export class RoundLoop {
  readonly #options: RoundOptions
  readonly #failures: FailureReporter
  #stop: AbortController | undefined
  #round: Promise<unknown> = Promise.resolve()
  #cancel: Cancel | undefined

  constructor(options: RoundOptions) {
    this.#options = options
    this.#failures = new FailureReporter(options.onError, TOLERATED)
  }

  start(): void {
    const stop = new AbortController()
    this.#stop = stop
    this.#startRound(stop.signal)
  }

  /** Resolves when no round is running. */
  async stop(): Promise<void> {
    this.#stop?.abort()
    this.#cancel?.()
    await this.#round
  }

  #startRound(signal: AbortSignal): void {
    const { clock, everyMs, run } = this.#options
    const startedAt = clock.now()
    let waitMs = everyMs
    const late = new AbortController()
    const round = this.#failures.of(async () => {
      const round = run(AbortSignal.any([signal, late.signal]))
      if (!(await settlesWithin(clock, TIMEOUT_MS, round))) {
        late.abort()
        throw new Error(`no answer within ${TIMEOUT_MS / 1_000} s`)
      }
      waitMs = (await round) ?? everyMs
    })
    this.#round = round.then(() => {
      if (signal.aborted) return
      const tookMs = Math.max(0, clock.now() - startedAt)
      // The rounds of a slow store use at most half of the time.
      this.#cancel = clock.schedule(Math.max(waitMs - tookMs, tookMs), () => this.#startRound(signal))
    })
  }
}
