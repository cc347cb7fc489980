import { DEFAULT_MASKS, type Masks } from '../../core/dead-letter/masks.ts'
import { ErrorNameMasker } from '../../core/dead-letter/subject-masks.ts'
import { NumberCell } from '../../core/metrics/cells.ts'
import { Series } from '../../core/metrics/series.ts'
import { SlidingRatio } from '../../core/metrics/sliding-ratio.ts'
import {
  type CounterName,
  type GaugeName,
  type HistogramName,
  METRICS,
  type MetricName,
} from '../../core/metrics/table.ts'
import { resolveOptions } from '../../core/options/resolve.ts'
import { integer, withDefault } from '../../core/options/rules.ts'
import { type Clock, clockRule } from '../../ports/clock.ts'
import type { GaugeReading, MetricFamily, Metrics } from '../../ports/metrics.ts'
import type { Observer } from '../../ports/observer.ts'
import { port } from '../option-rules.ts'
import { countingObserver } from './counting.ts'
import { gaugeSamples, MetricRegistry } from './registry.ts'
import { Watched, type WatchSource } from './watched.ts'

const DEFAULT_MAX_LABEL_VALUES = 100
/** The time window of the delivery ratio. */
const DISPATCH_WINDOW_MS = 300_000

/** Options of `createMetrics()`. */
export interface MetricsOptions {
  /** The number of different values of each label of a metric; later values share one series [100]. */
  readonly maxLabelValues?: number | undefined
  /** The masks for names of errors, which are values of the label `error_class` [the built-in masks]. */
  readonly masks?: Masks | undefined
  /** Supplies the time and the timers [the system clock]. Replace it in tests. */
  readonly clock?: Clock | undefined
}

/** Metrics of the consumers, dispatchers and breakers of this process. */
export interface LiveMetrics extends Metrics {
  /**
   * Reads a consumer, a dispatcher or a breaker whenever it is asked where things stand, or a function that answers
   * gauges of the table. Until the returned function is called. Watching twice is watching once.
   */
  watch(source: WatchSource): () => void
}

const rules = {
  maxLabelValues: withDefault(integer({ min: 1, max: 100_000 }), DEFAULT_MAX_LABEL_VALUES),
  masks: withDefault(port<Masks>('masks of createMasks', 'maskText'), DEFAULT_MASKS),
  clock: clockRule,
}

/** Counts everything that is observed; nothing is started and nothing has to be closed. */
export function createMetrics(options: MetricsOptions = {}): LiveMetrics {
  const { maxLabelValues, masks, clock } = resolveOptions('metrics', rules, options)
  return new CountedMetrics(maxLabelValues, masks, clock)
}

class CountedMetrics implements LiveMetrics {
  readonly observer: Observer
  readonly #bound: { readonly maxValues: number }
  readonly #clock: Clock
  readonly #registry: MetricRegistry
  readonly #breakers: Series<NumberCell>
  readonly #dispatched = new SlidingRatio(DISPATCH_WINDOW_MS)
  readonly #sources = new Map<WatchSource, Watched>()

  constructor(maxValues: number, masks: Masks, clock: Clock) {
    this.#bound = { maxValues }
    this.#clock = clock
    this.#registry = new MetricRegistry(this.#bound)
    this.#breakers = new Series(1, this.#bound, () => new NumberCell())
    this.observer = countingObserver({
      registry: this.#registry,
      breakers: this.#breakers,
      dispatched: this.#dispatched,
      clock,
      errorNames: new ErrorNameMasker(masks),
    })
  }

  watch(source: WatchSource): () => void {
    if (!this.#sources.has(source)) this.#sources.set(source, new Watched(source, this.#clock))
    return () => this.#sources.delete(source)
  }

  async read(): Promise<readonly MetricFamily[]> {
    const sources = Array.from(this.#sources.values(), source => source.read())
    const watched = (await Promise.all(sources)).flat()
    const readings = [...watched, ...this.#observedBreakers(watched), ...this.#dispatchRatio()]
    return (Object.keys(METRICS) as MetricName[]).map(name => this.#family(name, readings))
  }

  #family(name: MetricName, readings: readonly GaugeReading[]): MetricFamily {
    const { type, help, labels: labelNames } = METRICS[name]
    const head = { name, help, labelNames }
    if (type === 'histogram')
      return { ...head, type, samples: this.#registry.distributions(name as HistogramName) }
    if (type === 'counter') return { ...head, type, samples: this.#registry.counts(name as CounterName) }
    return { ...head, type, samples: gaugeSamples(name as GaugeName, readings, this.#bound) }
  }

  /** Those that are watched tell themselves what they are, also before they have changed for the first time. */
  #observedBreakers(watched: readonly GaugeReading[]): GaugeReading[] {
    const told = new Set(
      watched.flatMap(({ name, labels }) => (name === 'breaker_state' ? [labels['name']] : [])),
    )
    return Array.from(this.#breakers.entries(), ([[name = ''], { value }]) => ({
      name: 'breaker_state',
      labels: { name },
      value,
    })).filter(({ labels }) => !told.has(labels.name))
  }

  #dispatchRatio(): GaugeReading[] {
    const value = this.#dispatched.read(this.#clock.now())
    return value === undefined ? [] : [{ name: 'dispatch_success_ratio', labels: {}, value }]
  }
}
