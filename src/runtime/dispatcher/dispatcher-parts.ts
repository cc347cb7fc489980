import { createSaveFilter } from '../../core/dead-letter/filter.ts'
import type { LazaretEvent } from '../../core/event/event.ts'
import { createIdSource } from '../../core/event/uuid.ts'
import { systemRandom } from '../../ports/clock.ts'
import { combineObservers } from '../combine-observers.ts'
import { letterNotices } from '../letter-notices.ts'
import { LetterBox } from '../letters.ts'
import type { RateLimiter, RetryLimiter } from '../limiters.ts'
import type { Closeable } from '../share.ts'
import { guardRandom, guardTest } from '../user-functions/guards.ts'
import { UserFaults } from '../user-functions/user-faults.ts'
import { DispatcherLetters } from './after/dispatcher-letters.ts'
import type { DispatcherPolicy } from './dispatcher-options.ts'
import { Lane } from './lane/lane.ts'
import { lanePolicy } from './lane/lane-policy.ts'
import { Door } from './track/entry-limit.ts'
import { observeAsOwn, toldAsOwn } from './track/own-context.ts'
import { TrackDesk } from './track/track-desk.ts'
import type { EventDefaults } from './track/track-input.ts'
import { TrackJournal } from './track/track-journal.ts'
import { type Checkable, HealthChecker } from './write/health-checker.ts'

/** What a dispatcher is made of. */
export interface DispatcherParts {
  readonly defaults: EventDefaults
  readonly door: Door
  readonly lanes: ReadonlyMap<string, Lane>
  readonly isCritical: ((event: LazaretEvent) => boolean) | undefined
  readonly faults: UserFaults
  readonly box: LetterBox
  readonly letters: DispatcherLetters
  readonly desk: TrackDesk
  readonly journal: TrackJournal | undefined
  readonly checker: HealthChecker | undefined
  /** Those that are shared are joined when the dispatcher begins. */
  readonly limiters: readonly (RateLimiter | RetryLimiter)[]
  /** What is closed with the last one who uses it. */
  readonly resources: readonly Closeable[]
}

export function dispatcherParts(policy: DispatcherPolicy): DispatcherParts {
  const { sinks, deadLetters, spill, observer, notifier, clock, random, caps, tracing } = policy
  const { channel, source, limits, critical } = policy
  const faults = new UserFaults({ name: 'dispatcher', clock, observer }, observeAsOwn)
  const door = new Door(guardBypass(policy.rateLimit, faults), {
    name: 'door',
    clock,
    observer: toldAsOwn(observer, 'sharedLimitChanged'),
  })
  const box = new LetterBox({
    deadLetters,
    spill,
    // The desk asks it, before a letter is made.
    filter: undefined,
    observer:
      notifier === undefined
        ? observer
        : combineObservers(observer, letterNotices(notifier, { observer, clock, faults })),
    clock,
  })
  const journal = policy.journal && new TrackJournal(policy.journal, clock, observer)
  const letters = new DispatcherLetters(
    box,
    clock,
    observer,
    journal && (letter => journal.leaveLetter(letter)),
  )
  const lanes = new Map(
    Object.entries(policy.lanes).map(([name, settings]) => {
      const surroundings = { door, caps, observer, tracing, clock, random }
      return [name, new Lane(lanePolicy(name, sinks[name]!, settings, surroundings))] as const
    }),
  )
  const limiters = [door.limiter, ...[...lanes.values()].map(lane => lane.limiter)].filter(
    one => one !== undefined,
  )
  const keeps = createSaveFilter(policy.filter, (_rule, error) => faults.report('filter', error))
  const desk = new TrackDesk({ ...policy, names: [...lanes.keys()], letters, keeps, journal })
  return {
    defaults: {
      channel,
      source,
      limits,
      newId: createIdSource(guardRandom(random, faults, systemRandom)),
      tracing,
    },
    door,
    lanes,
    isCritical: critical && (event => critical(event, error => faults.report('critical', error))),
    faults,
    box,
    letters,
    desk,
    journal,
    checker: healthChecker(policy, [...lanes.values()]),
    limiters,
    resources: [...Object.values(sinks), deadLetters, spill, policy.journal, notifier, ...limiters].filter(
      one => one !== undefined,
    ),
  }
}

function guardBypass(
  policy: DispatcherPolicy['rateLimit'],
  faults: UserFaults,
): DispatcherPolicy['rateLimit'] {
  const when = policy?.bypass.when
  if (policy === undefined || when === undefined) return policy
  return { ...policy, bypass: { ...policy.bypass, when: guardTest(when, 'bypass', false, faults) } }
}

/** A sink without a probe is probed by its next batch. */
function healthChecker(policy: DispatcherPolicy, lanes: readonly Lane[]): HealthChecker | undefined {
  const { healthCheck, clock, observer } = policy
  if (healthCheck === 'off') return undefined
  const checkable = lanes.flatMap((lane): Checkable[] => {
    const { name, sink, breaker, timeoutMs } = lane.policy
    if (breaker === undefined || sink.probe === undefined) return []
    return [{ name, breaker, timeoutMs, probe: sink.probe.bind(sink), checked: () => lane.checked() }]
  })
  return new HealthChecker(checkable, { everyMs: healthCheck.everyMs, clock, observer })
}
