import { countWaiting } from '../../core/dead-letter/state.ts'
import type { DeadLetterStore } from '../../ports/dead-letters.ts'
import { type HealthReport, healthReport } from '../../runtime/consumer/health.ts'
import type { Dispatcher } from '../../runtime/dispatcher/dispatcher.ts'
import type { LazaretConsumers } from './consumers.ts'
import type { NestSettings } from './options.ts'

/** What Terminus shows of Lazaret: the report of `/healthz/consumer`, with the status in the words of Terminus. */
export interface LazaretHealth extends Omit<HealthReport, 'status'> {
  readonly status: 'up' | 'degraded' | 'down'
  /** The sinks of the dispatcher whose breaker is open. */
  readonly failingSinks: readonly string[]
}

const STATUS = { UP: 'up', DEGRADED: 'degraded', DOWN: 'down' } as const

/**
 * An indicator for `HealthCheckService` of `@nestjs/terminus`: `health.check([() => lazaret.check('lazaret')])`. It is `down`
 * while a breaker of a consumer is open, and `degraded` with too many dead letters, or while a broker stalls or a sink fails.
 */
export class LazaretHealthIndicator {
  readonly #settings: NestSettings
  readonly #consumers: LazaretConsumers
  readonly #dispatcher: Dispatcher<string> | undefined

  constructor(
    settings: NestSettings,
    consumers: LazaretConsumers,
    dispatcher: Dispatcher<string> | undefined,
  ) {
    this.#settings = settings
    this.#consumers = consumers
    this.#dispatcher = dispatcher
  }

  /** The result under a key of your own ['lazaret']. Rejects when the store of the dead letters is unreachable. */
  async check(key = 'lazaret'): Promise<Record<string, LazaretHealth>> {
    const { deadLetters, degradedAt } = this.#settings
    const waiting = isStore(deadLetters) ? countWaiting((await deadLetters.stats()).byState) : 0
    const { status, ...report } = healthReport(this.#consumers.health(), waiting, degradedAt)
    const sinks = Object.entries(this.#dispatcher?.health().sinks ?? {})
    const failingSinks = sinks.filter(([, { breakerState }]) => breakerState === 'open').map(([name]) => name)
    const isDegraded = status === 'UP' && failingSinks.length > 0
    return { [key]: { ...report, failingSinks, status: isDegraded ? 'degraded' : STATUS[status] } }
  }
}

function isStore(letters: unknown): letters is DeadLetterStore {
  return typeof (letters as Partial<DeadLetterStore> | undefined)?.stats === 'function'
}
