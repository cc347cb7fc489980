import type { Clock } from '../ports/clock.ts'
import type { DeadLetterStore } from '../ports/dead-letters.ts'
import type { Observer } from '../ports/observer.ts'
import { sinkReplays } from '../replay/sink-replays.ts'
import type { ReplayTarget } from '../replay/target.ts'
import { createDispatcher, type Dispatcher } from '../runtime/dispatcher/dispatcher.ts'
import { seededRandom } from '../testing/seeded-random.ts'
import { deployedSink } from './deployed.ts'
import { Analytics } from './shop/tracking/analytics.ts'
import { type Track, tracking } from './shop/tracking/track.ts'
import { type SinkName, TRACKING } from './shop/tracking/tracking.ts'
import { Wallboard } from './shop/tracking/wallboard.ts'
import { StumblingLetters } from './stumbling-letters.ts'

interface EmittingOptions {
  readonly deadLetters: DeadLetterStore
  readonly clock: Clock
  readonly seed: number
  readonly observer: Observer
  readonly host: string
}

/** The side of the shop that emits: what happens is tracked, and two sinks are told of it. */
export interface Emitting {
  readonly dispatcher: Dispatcher<SinkName>
  readonly analytics: Analytics
  readonly track: Track
  /** Where replays of its letters go. */
  readonly wayBack: ReplayTarget
  /** The store refuses the next letter of a sink, once. */
  stumble(): void
}

export function openEmitting(options: EmittingOptions): Emitting {
  const { clock, seed, observer, host } = options
  const deadLetters = new StumblingLetters(options.deadLetters)
  const analytics = new Analytics(clock)
  const dispatcher = createDispatcher<SinkName>({
    ...TRACKING,
    sinks: { analytics: deployedSink(analytics), wallboard: deployedSink(new Wallboard(clock)) },
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
    wayBack: sinkReplays(dispatcher, options.deadLetters),
    stumble: () => deadLetters.stumble(),
  }
}
