import { join } from 'node:path'
import { createDispatcher, type Dispatcher, type LazaretEvent } from 'lazaret'
import { fileDeadLetters, fileJournal } from 'lazaret/file'
import { loki, sentry } from 'lazaret/sinks'
import type { Config } from './config.ts'
import { log } from './log.ts'

export type OrderEvents = Dispatcher<'loki' | 'sentry'>

/** Money: what an auditor asks for must not be lost with a process. */
function isPayment({ type }: LazaretEvent): boolean {
  return type === 'order.paid' || type.startsWith('payment.')
}

/** Where the shop's events go, and what becomes of them when that is not well. */
export function createEvents(config: Config, lokiUrl: string, dsn: string): OrderEvents {
  return createDispatcher({
    source: '/order-service',
    graceMs: config.graceMs,
    sinks: {
      loki: loki({ url: lokiUrl, labels: { app: 'order-service' } }),
      sentry: sentry({ dsn, environment: 'example' }),
    },
    // A sink that is away is retried at this pace when it is back, however much has waited for it.
    retryLimit: config.retriesPerSecond === 0 ? 'off' : { perSecond: config.retriesPerSecond },
    breaker: { failures: 5, openMs: 1_000, successes: 3 },
    healthCheck: { everyMs: 500 },
    overrides: {
      // Logs can wait in memory for a while. What Sentry does not take becomes a dead letter at once.
      loki: { whenOpen: 'wait', retry: { attempts: 100 } },
    },
    // The rate limit refuses a flood of orders. Events about money and failures always pass.
    rateLimit: {
      perSecond: config.eventsPerSecond,
      bypass: { severities: ['error', 'fatal'], types: ['order.paid'] },
    },
    critical: isPayment,
    journal: fileJournal({ dir: join(config.dir, 'journal') }),
    deadLetters: fileDeadLetters({ dir: join(config.dir, 'dead-letters') }),
    observer: {
      breakerChanged: ({ name, from, to }) => log('breaker', { sink: name, from, to }),
      letterSaved: ({ name, letter }) => log('dead letter', { sink: name, reason: letter.cycle.reason }),
    },
  })
}
