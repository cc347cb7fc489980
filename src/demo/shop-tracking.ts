import type { Clock } from '../ports/clock.ts'
import type { DeadLetterStore } from '../ports/dead-letters.ts'
import type { Observer } from '../ports/observer.ts'
import { sinkReplays } from '../replay/sink-replays.ts'
import type { ReplayTarget } from '../replay/target.ts'
import { createDispatcher, type Dispatcher } from '../runtime/dispatcher/dispatcher.ts'
import { seededRandom } from '../testing/seeded-random.ts'
import { FailOnceLetters } from './fail-once-letters.ts'
import { relocateSinkStacks } from './relocate-stacks.ts'
import { Analytics } from './shop/tracking/analytics.ts'
import { type Track, tracking } from './shop/tracking/track.ts'
import { type SinkName, TRACKING } from './shop/tracking/tracking.ts'
import { Wallboard } from './shop/tracking/wallboard.ts'

interface TrackingOptions {
  readonly deadLetters: DeadLetterStore
  readonly clock: Clock
  readonly seed: number
  readonly observer: Observer
  readonly host: string
}

/** The side of the shop that emits: what happens is tracked, and two sinks are told of it. */
export interface ShopTracking {
  readonly dispatcher: Dispatcher<SinkName>
  readonly analytics: Analytics
  readonly track: Track
  /** Where replays of its letters go. */
  readonly replayTarget: ReplayTarget
  /** The store refuses the next letter of a sink, once. */
  failNextSave(): void
}

export function openTracking(options: TrackingOptions): ShopTracking {
  const { clock, seed, observer, host } = options
  const deadLetters = new FailOnceLetters(options.deadLetters)
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
    replayTarget: sinkReplays(dispatcher, options.deadLetters),
    failNextSave: () => deadLetters.failNextSave(),
  }
}
