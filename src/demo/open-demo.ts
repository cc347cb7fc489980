import type { Random } from '../core/random.ts'
import type { Clock } from '../ports/clock.ts'
import type { Observer } from '../ports/observer.ts'
import type { ReplayTarget } from '../replay/target.ts'
import type { Consumer } from '../runtime/consumer/consumer.ts'
import type { Dispatcher } from '../runtime/dispatcher/dispatcher.ts'
import { createMetrics, type LiveMetrics } from '../runtime/metrics/create-metrics.ts'
import { combineObservers } from '../runtime/observe.ts'
import type { DemoControl } from '../server/demo-control.ts'
import { seededRandom } from '../testing/seeded-random.ts'
import { demoControl } from './control.ts'
import type { History } from './history/simulate-history.ts'
import { writeHistory } from './history/write-history.ts'
import { Scenario } from './scenario.ts'
import { SCHEMAS } from './shop/contracts.ts'
import type { ShopStore } from './shop.ts'

/** Time limits for the end of the demo: the process must exit within two seconds. */
const GRACE_MS = 300

interface DemoOptions {
  readonly store: ShopStore
  readonly clock: Clock
  readonly seed: number
  /** What lies behind the shop. */
  readonly history: History
  /** Watches everything that happens in the shop, beside its metrics. */
  readonly observer?: Observer | undefined
  readonly onError?: ((error: unknown) => void) | undefined
}

export interface Demo {
  readonly consumers: readonly Consumer[]
  readonly dispatchers: readonly Dispatcher[]
  /** Of the whole shop. */
  readonly metrics: LiveMetrics
  readonly control: DemoControl
  /** Of letters that came from no broker but from a sink. */
  readonly replayTarget: ReplayTarget
  /** Of the payloads, by channel. */
  readonly schemas: typeof SCHEMAS
  /** Chance that repeats with the seed, for what is made beside the scenario. */
  readonly random: Random
  /** From here on orders come in. */
  start(): Promise<void>
  /** Ends the story and the shop, and with them the store. */
  close(): Promise<void>
}

/** A shop with a day behind it and a minute before it. */
export async function openDemo({ history, observer = {}, ...options }: DemoOptions): Promise<Demo> {
  const { store, clock, seed } = options
  await writeHistory(store, history)
  const metrics = createMetrics({ clock })
  const scenario = new Scenario({ ...options, observer: combineObservers(metrics.observer, observer) })
  return {
    consumers: scenario.shop.consumers,
    dispatchers: [scenario.shop.tracking.dispatcher],
    metrics,
    control: demoControl(scenario, seed),
    replayTarget: scenario.shop.tracking.replayTarget,
    schemas: SCHEMAS,
    random: seededRandom(seed + 99),
    start: () => scenario.start(),
    async close() {
      await scenario.close({ graceMs: GRACE_MS })
      await store.close()
    },
  }
}
