import type { StallReporter } from '../../../../adapter-kit/delivery/stalls.ts'

const UNREPORTED = 3

/** Reports repeated failures. A few in a row are usual: a leader that moves fails the requests of its partitions. */
export class FailureCount {
  readonly #stalls: StallReporter
  #failures = 0

  constructor(stalls: StallReporter) {
    this.#stalls = stalls
  }

  failed(error: Error): void {
    if (++this.#failures > UNREPORTED) this.#stalls.stalled('deliveries', this, error)
  }

  works(): void {
    if (this.#failures === 0) return
    this.#failures = 0
    this.#stalls.ended('deliveries', this)
  }
}
