import { metricsText } from '../core/metrics/exposition.ts'
import type { Clock } from '../ports/clock.ts'
import type { Observer } from '../ports/observer.ts'
import { createMetrics, type LiveMetrics } from '../runtime/metrics/create-metrics.ts'
import type { WatchSource } from '../runtime/metrics/watched.ts'
import { combineObservers } from '../runtime/observe.ts'

interface MetricsEndpointOptions {
  /** Made here if left out. */
  readonly metrics: LiveMetrics | undefined
  readonly prefix: string
  readonly sources: readonly WatchSource[]
  readonly clock: Clock
}

/** What `/metrics` shows. */
export class MetricsEndpoint {
  /** Told by the replays that this server runs. */
  readonly observer: Observer
  readonly #metrics: LiveMetrics
  readonly #prefix: string
  readonly #unwatch: readonly (() => void)[]

  constructor({ metrics, prefix, sources, clock }: MetricsEndpointOptions) {
    this.#metrics = metrics ?? createMetrics({ clock })
    this.#prefix = prefix
    this.#unwatch = sources.map(source => this.#metrics.watch(source))
    const { observer } = this.#metrics
    // Metrics of one's own are told by the handlers what becomes of a replay. These here are known to no handler.
    this.observer = metrics === undefined ? combineObservers(observer, outcomesOf(observer)) : observer
  }

  async text(): Promise<string> {
    return metricsText(await this.#metrics.read(), this.#prefix)
  }

  close(): void {
    for (const unwatch of this.#unwatch) unwatch()
  }
}

/** What letters tell of how replays end, as if their handlers had told it. */
function outcomesOf(observer: Observer): Observer {
  return {
    replayItemEnded({ channel, letterId, status }) {
      const outcome = status === 'recovered' || status === 'skipped' ? status : 'failed_again'
      observer.replayOutcome?.({ channel, letterId, outcome })
    },
  }
}
