import type { Clock } from '../ports/clock.ts'
import type { DeadLetterStore } from '../ports/dead-letters.ts'
import type { Observer } from '../ports/observer.ts'
import { sinkReplays } from '../replay/sink-replays.ts'
import { createDispatcher } from '../runtime/dispatcher/dispatcher.ts'
import { seededRandom } from '../testing/seeded-random.ts'
import { failOnceLetters } from './fail-once-letters.ts'
import { relocateSinkStacks } from './relocate-stacks.ts'
import { Analytics } from './shop/tracking/analytics.ts'
import { tracking } from './shop/tracking/track.ts'
import { type SinkName, TRACKING } from './shop/tracking/tracking.ts'
import { Wallboard } from './shop/tracking/wallboard.ts'

interface TrackingOptions {
  readonly deadLetters: DeadLetterStore
  readonly clock: Clock
  readonly seed: number
  readonly observer: Observer
  readonly host: string
}

/** The tracking side of the shop: one dispatcher that writes every tracked event to two sinks. */
export function openTracking(options: TrackingOptions) {
  const { clock, seed, observer, host } = options
  const deadLetters = failOnceLetters(options.deadLetters)
  const analytics = new Analytics(clock)
  const dispatcher = createDispatcher<SinkName>({
    ...TRACKING,
    sinks: { analytics: relocateSinkStacks(analytics), wallboard: relocateSinkStacks(new Wallboard(clock)) },
    deadLetters,
    clock,
    observer,
    host,
    random: seededRandom(seed + 500),
    caps: { keepStack: true },
  })
  return {
    dispatcher,
    analytics,
    track: tracking(dispatcher),
    /** The replay target of its letters. */
    replayTarget: sinkReplays(dispatcher, options.deadLetters),
    /** Lets the store refuse the next letter of a sink, once. */
    failNextSave: deadLetters.failNextSave,
  }
}
