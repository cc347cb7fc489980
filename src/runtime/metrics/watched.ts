import type { BreakerMode } from '../../core/breaker/state.ts'
import { type Clock, settlesWithin } from '../../ports/clock.ts'
import type { GaugeReading } from '../../ports/metrics.ts'
import { type Breaker, breakerGauge } from '../breaker.ts'
import type { Consumer } from '../consumer/consumer.ts'
import type { ConsumerHealth } from '../consumer/health.ts'
import type { Dispatcher } from '../dispatcher/dispatcher.ts'

/** The gauges that the user supplies, by name. They are read when the metrics are read. */
export type GaugeSource = () => readonly GaugeReading[] | Promise<readonly GaugeReading[]>

/** The sources of gauges, recognised by their methods. */
export type WatchSource =
  | (Pick<Consumer, 'health'> & Partial<Pick<Consumer, 'lag'>>)
  | Pick<Dispatcher, 'health'>
  | Pick<Breaker, 'snapshot'>
  | GaugeSource

/** The timeout of a source. After it the source has no series in this scrape. Prometheus itself waits for 10 s. */
const READ_TIMEOUT_MS = 8_000
/** The same for the lag of a consumer, so that a broker that hangs does not hold up every scrape. */
const LAG_TIMEOUT_MS = 2_000

/**
 * One source. It is not asked again before it answers: scrapes continue, and a failing store would get ever more calls.
 */
export class Watched {
  readonly #source: WatchSource
  readonly #clock: Clock
  readonly #timeoutMs: number
  /** Read apart, because the broker counts it: a broker that hangs must not hide the breaker of its consumer. */
  readonly #lag: Watched | undefined
  #asking: Promise<readonly GaugeReading[]> | undefined

  constructor(source: WatchSource, clock: Clock, timeoutMs = READ_TIMEOUT_MS) {
    this.#source = source
    this.#clock = clock
    this.#timeoutMs = timeoutMs
    this.#lag = hasLag(source) ? new Watched(() => readLag(source), clock, LAG_TIMEOUT_MS) : undefined
  }

  /** Never rejects: an unreadable source has no series. */
  async read(): Promise<readonly GaugeReading[]> {
    const [own, lag] = await Promise.all([this.#readOwn(), this.#lag?.read() ?? []])
    return [...own, ...lag]
  }

  async #readOwn(): Promise<readonly GaugeReading[]> {
    try {
      const asking = this.#asking ?? this.#ask()
      const readings = (await settlesWithin(this.#clock, this.#timeoutMs, asking)) ? await asking : []
      return Array.from(readings).filter(isReading)
    } catch {
      return []
    }
  }

  #ask(): Promise<readonly GaugeReading[]> {
    const asking = Promise.resolve(readingsOf(this.#source))
    this.#asking = asking
    const answered = () => {
      this.#asking = undefined
    }
    asking.then(answered, answered)
    return asking
  }
}

function hasLag(source: WatchSource): source is Pick<Consumer, 'health' | 'lag'> {
  return typeof source === 'object' && 'lag' in source && typeof source.lag === 'function'
}

/** Functions are written by others, and not all of them are type-checked. */
function isReading(value: unknown): value is GaugeReading {
  const { name, labels } = (value ?? {}) as Partial<GaugeReading>
  if (typeof name !== 'string' || typeof labels !== 'object' || labels === null) return false
  return Object.values(labels).every(text => typeof text === 'string')
}

function readingsOf(source: WatchSource): readonly GaugeReading[] | Promise<readonly GaugeReading[]> {
  if (typeof source === 'function') return source()
  if ('snapshot' in source) {
    const { name, state } = source.snapshot()
    return [breakerOf(name, state.mode)]
  }
  const health = source.health()
  if (!('sinks' in health)) return gaugesOf(health.handler, health)
  return Object.entries(health.sinks).flatMap(([name, sink]) => gaugesOf(name, sink))
}

/** The lag of a consumer; nothing if its broker cannot count it. */
async function readLag(source: Pick<Consumer, 'health' | 'lag'>): Promise<readonly GaugeReading[]> {
  const { channel, handler } = source.health()
  const lag = await source.lag()
  return lag === undefined ? [] : [{ name: 'consumer_lag', labels: { channel, name: handler }, value: lag }]
}

function gaugesOf(
  name: string,
  { breakerState, retrying }: Pick<ConsumerHealth, 'breakerState' | 'retrying'>,
): readonly GaugeReading[] {
  const queue = { name: 'retry_queue_size', labels: { name }, value: retrying }
  return breakerState === 'off' ? [queue] : [queue, breakerOf(name, breakerState)]
}

function breakerOf(name: string, mode: BreakerMode): GaugeReading {
  return { name: 'breaker_state', labels: { name }, value: breakerGauge(mode) }
}
