import { exponential } from '../../../core/retry/exponential.ts'
import type { DispatcherOptions } from '../../../runtime/dispatcher/dispatcher-options.ts'

export type SinkName = 'analytics' | 'wallboard'

/** The tracking options of the shop. Sinks and the dead-letter store are the same for the whole shop, and set elsewhere. */
type Tracking = Omit<DispatcherOptions<SinkName>, 'sinks' | 'deadLetters'>

/** The channel of the letters of tracked events. */
export const TRACKING_CHANNEL = 'tracking'

/**
 * The shop tracks its events to two sinks. The sinks share only the events: a failing sink affects neither the other
 * sink nor the code that tracks.
 */
export const TRACKING: Tracking = {
  channel: TRACKING_CHANNEL,
  source: '/shop/tracking',
  release: '1.7.0',
  // Bursts of page views are limited. Payments bypass the limit, because they are rare and important.
  rateLimit: { perSecond: 25, burst: 30, bypass: { types: [/^payment\./] } },
  // Page views are not worth a letter. Payments always become letters when they fail.
  filter: { always: [/^payment\./], never: ['page.viewed'] },
  healthCheck: { everyMs: 2_000 },
  timeoutMs: 3_000,
  overrides: {
    analytics: {
      retry: { attempts: 3, backoff: exponential({ baseMs: 300, maxMs: 5_000 }) },
      breaker: { failures: 8, openMs: 60_000, successes: 2 },
      // After an outage it gets its backlog in small batches.
      retryLimit: { batch: { size: 2, everyMs: 1_000 } },
    },
    wallboard: {
      retry: { attempts: 3, backoff: exponential({ baseMs: 200, maxMs: 1_000 }) },
      // It shows current events: a late event is not worth showing.
      retryLimit: { batch: { size: 10, everyMs: 1_000 }, onLimit: 'drop' },
    },
  },
}
