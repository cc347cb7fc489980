import { NotCollectedError } from '../../../adapter-kit/collecting/errors.ts'
import { monotonicNow } from '../../../ports/clock.ts'
import type { NatsCollectorSettings } from './options.ts'

/** A stream that could not be read rests for so long. Its requests may wait for an answer that never comes. */
const REST_MS = 5_000
/** A change of a leader takes a moment, so only a longer problem is reported. */
const REPORT_AFTER_MS = 3_000

/** The streams that cannot be read now. Each is reported once for as long as it fails. */
export class UnreadableStreams {
  readonly #settings: NatsCollectorSettings
  readonly #failing = new Map<string, { readonly since: number; nextAt: number; isReported: boolean }>()

  constructor(settings: NatsCollectorSettings) {
    this.#settings = settings
  }

  isResting(stream: string): boolean {
    const failing = this.#failing.get(stream)
    return failing !== undefined && this.#now() < failing.nextAt
  }

  failed(stream: string, error: unknown): void {
    const now = this.#now()
    const failing = this.#failing.get(stream) ?? { since: now, nextAt: 0, isReported: false }
    failing.nextAt = now + REST_MS
    this.#failing.set(stream, failing)
    if (failing.isReported || now - failing.since < REPORT_AFTER_MS) return
    failing.isReported = true
    const { connection, onError } = this.#settings
    onError(new NotCollectedError(`collector '${connection.name}', stream '${stream}'`, error))
  }

  worked(stream: string): void {
    this.#failing.delete(stream)
  }

  #now(): number {
    return monotonicNow(this.#settings.connection.clock)
  }
}
