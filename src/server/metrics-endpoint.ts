import { metricsText } from '../core/metrics/exposition.ts'
import type { Clock } from '../ports/clock.ts'
import type { Observer } from '../ports/observer.ts'
import { createMetrics, type LiveMetrics } from '../runtime/metrics/create-metrics.ts'
import type { WatchSource } from '../runtime/metrics/watched.ts'
import { combineObservers } from '../runtime/observe.ts'

interface MetricsEndpointOptions {
  /** Created here if omitted. */
  readonly metrics: LiveMetrics | undefined
  readonly prefix: string
  readonly sources: readonly WatchSource[]
  readonly clock: Clock
}

/** Serves `/metrics`. */
export class MetricsEndpoint {
  /** Receives the observations of the replays that this server runs. */
  readonly observer: Observer
  readonly #metrics: LiveMetrics
  readonly #prefix: string
  readonly #unwatch: readonly (() => void)[]

  constructor({ metrics, prefix, sources, clock }: MetricsEndpointOptions) {
    this.#metrics = metrics ?? createMetrics({ clock })
    this.#prefix = prefix
    this.#unwatch = sources.map(source => this.#metrics.watch(source))
    const { observer } = this.#metrics
    // Handlers report replay outcomes to metrics that they share. No handler knows the metrics that are created here.
    this.observer = metrics === undefined ? combineObservers(observer, outcomesOf(observer)) : observer
  }

  async text(): Promise<string> {
    return metricsText(await this.#metrics.read(), this.#prefix)
  }

  close(): void {
    for (const unwatch of this.#unwatch) unwatch()
  }
}

/** Derives replay outcomes from the letters, as a handler would report them. */
function outcomesOf(observer: Observer): Observer {
  return {
    replayItemEnded({ channel, letterId, status }) {
      const outcome = status === 'recovered' || status === 'skipped' ? status : 'failed_again'
      observer.replayOutcome?.({ channel, letterId, outcome })
    },
  }
}
