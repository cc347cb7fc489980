import { type Clock, within } from '../../ports/clock.ts'
import type { GaugeReading } from '../../ports/metrics.ts'
import type { Breaker } from '../breaker.ts'
import type { Consumer } from '../consumer/consumer.ts'
import type { ConsumerHealth } from '../consumer/health.ts'
import type { Dispatcher } from '../dispatcher/dispatcher.ts'
import type { DispatcherHealth } from '../dispatcher/dispatcher-health.ts'
import { breakerGauge } from './breaker-gauge.ts'

/** Gauges of the user's own, among those that there are; read when somebody asks where things stand. */
export type GaugeSource = () => readonly GaugeReading[] | Promise<readonly GaugeReading[]>

/** What can be watched: known by its shape. */
export type WatchSource =
  | Pick<Consumer, 'health'>
  | Pick<Dispatcher, 'health'>
  | Pick<Breaker, 'snapshot'>
  | GaugeSource

/** Who does not answer for so long has no series this time. Prometheus itself waits for 10 s. */
const PATIENCE_MS = 8_000

/** One source. While it owes an answer it is not asked again: scrapes go on, and a sick store would drown in questions. */
export class Watched {
  readonly #source: WatchSource
  readonly #clock: Clock
  #asking: Promise<readonly GaugeReading[]> | undefined

  constructor(source: WatchSource, clock: Clock) {
    this.#source = source
    this.#clock = clock
  }

  /** Never rejects: what cannot be read has no series. */
  async read(): Promise<readonly GaugeReading[]> {
    try {
      const asking = this.#asking ?? this.#ask()
      const readings = (await within(this.#clock, PATIENCE_MS, asking)) ? await asking : []
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
    return breakerOf(name, state.mode)
  }
  const health = source.health()
  return 'sinks' in health ? ofSinks(health) : ofConsumer(health)
}

function ofConsumer({ handler, breakerState, retrying }: ConsumerHealth): readonly GaugeReading[] {
  return [queueOf(handler, retrying), ...breakerOf(handler, breakerState)]
}

function ofSinks({ sinks }: DispatcherHealth): readonly GaugeReading[] {
  return Object.entries(sinks).flatMap(([name, { breakerState, retrying }]) => [
    queueOf(name, retrying),
    ...breakerOf(name, breakerState),
  ])
}

function queueOf(name: string, value: number): GaugeReading {
  return { name: 'retry_queue_size', labels: { name }, value }
}

function breakerOf(name: string, mode: ConsumerHealth['breakerState']): readonly GaugeReading[] {
  return mode === 'off' ? [] : [{ name: 'breaker_state', labels: { name }, value: breakerGauge(mode) }]
}
