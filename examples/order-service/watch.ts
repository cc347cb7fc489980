import { clearInterval, setInterval } from 'node:timers'
import type { DispatcherHealth } from 'lazaret'
import type { OrderEvents } from './events.ts'
import { Rate } from './rate.ts'
import type { ReceiverProcess } from './receiver-process.ts'

const LOOK_EVERY_MS = 250
const KEPT = 240

/** What the plot shows of one moment. */
export interface Sample {
  /** Since the process started. */
  readonly atMs: number
  /** Events that Loki took in the last second, as it counts them; a Loki of your own is believed to have what was sent. */
  readonly perSecond: number
  readonly waiting: number
  readonly isFailing: boolean
  readonly health: DispatcherHealth
}

/** Reads the state of the dispatcher and of the receivers a few times a second, and sends it to all open pages. */
export class Watch {
  readonly samples: Sample[] = []
  readonly #events: OrderEvents
  readonly #receivers: ReceiverProcess | undefined
  readonly #watchers = new Set<(sample: Sample) => void>()
  readonly #delivered = new Rate()
  readonly #timer: NodeJS.Timeout

  constructor(events: OrderEvents, receivers: ReceiverProcess | undefined) {
    this.#events = events
    this.#receivers = receivers
    this.#timer = setInterval(() => this.#look(), LOOK_EVERY_MS)
  }

  watch(watcher: (sample: Sample) => void): () => void {
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  close(): void {
    clearInterval(this.#timer)
  }

  #look(): void {
    const health = this.#events.health()
    const { buffered, delivered } = health.sinks.loki
    const rate = this.#delivered.look(delivered)
    const sample = {
      atMs: process.uptime() * 1_000,
      perSecond: this.#receivers?.lokiPerSecond ?? rate,
      waiting: buffered,
      isFailing: this.#receivers?.failing.includes('loki') ?? false,
      health,
    }
    this.samples.push(sample)
    if (this.samples.length > KEPT) this.samples.shift()
    for (const watcher of this.#watchers) watcher(sample)
  }
}
