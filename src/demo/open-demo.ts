import type { Clock } from '../ports/clock.ts'
import type { Observer } from '../ports/observer.ts'
import { createMetrics } from '../runtime/metrics/create-metrics.ts'
import { combineObservers } from '../runtime/observe.ts'
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
  /** The past day of the shop. */
  readonly history: History
  /** Observes the whole shop in addition to its metrics. */
  readonly observer?: Observer | undefined
  readonly onError?: ((error: unknown) => void) | undefined
}

export type Demo = Awaited<ReturnType<typeof openDemo>>

/** Opens a shop with a day of history, ready for its first minute. */
export async function openDemo({ history, observer = {}, ...options }: DemoOptions) {
  const { store, clock, seed } = options
  await writeHistory(store, history)
  const metrics = createMetrics({ clock })
  const scenario = new Scenario({ ...options, observer: combineObservers(metrics.observer, observer) })
  return {
    consumers: scenario.shop.consumers,
    dispatchers: [scenario.shop.tracking.dispatcher],
    /** Of the whole shop. */
    metrics,
    control: demoControl(scenario, seed),
    /** For letters that came from a sink and not from a broker. */
    replayTarget: scenario.shop.tracking.replayTarget,
    schemas: SCHEMAS,
    /** Random numbers that repeat with the seed, for the server beside the scenario. */
    random: seededRandom(seed + 99),
    /** Opens the shop: orders come in from here on. */
    start: () => scenario.start(),
    /** Closes the scenario and the shop, and with them the store. */
    async close() {
      await scenario.close({ graceMs: GRACE_MS })
      await store.close()
    },
  }
}
