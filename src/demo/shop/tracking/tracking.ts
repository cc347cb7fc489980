import { exponential } from '../../../core/retry/exponential.ts'
import type { DispatcherOptions } from '../../../runtime/dispatcher/dispatcher-options.ts'

export type SinkName = 'analytics' | 'wallboard'

/** What the shop's author decides about tracking. Where letters live is decided once, for the whole shop. */
type Tracking = Omit<DispatcherOptions<SinkName>, 'sinks' | 'deadLetters'>

/** Where the letters of what was tracked are found. */
export const TRACKING_CHANNEL = 'tracking'

/**
 * The shop tells two sinks what happens in it. They share only the events: a failing sink affects neither the other
 * sink nor the code that tracks.
 */
export const TRACKING: Tracking = {
  channel: TRACKING_CHANNEL,
  source: '/shop/tracking',
  release: '1.7.0',
  // Everyone who looks at once is not let in at once. Money is: it is rare, and somebody will ask for it.
  rateLimit: { perSecond: 25, burst: 30, bypass: { types: [/^payment\./] } },
  // Nobody misses a page view. Payments are kept whatever else is decided about them.
  filter: { always: [/^payment\./], never: ['page.viewed'] },
  healthCheck: { everyMs: 2_000 },
  timeoutMs: 3_000,
  overrides: {
    analytics: {
      retry: { attempts: 3, backoff: exponential({ baseMs: 300, maxMs: 5_000 }) },
      breaker: { failures: 8, openMs: 60_000, successes: 2 },
      // When it is back it is sent a few at a time, whatever has piled up.
      retryLimit: { batch: { size: 2, everyMs: 1_000 } },
    },
    wallboard: {
      retry: { attempts: 3, backoff: exponential({ baseMs: 200, maxMs: 1_000 }) },
      // It shows current events: a late event is not worth showing.
      retryLimit: { batch: { size: 10, everyMs: 1_000 }, onLimit: 'drop' },
    },
  },
}
