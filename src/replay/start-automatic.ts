import { createIdSource } from '../core/event/uuid.ts'
import { resolveOptions } from '../core/options/resolve.ts'
import {
  custom,
  flag,
  integer,
  list,
  listener,
  milliseconds,
  optional,
  withDefault,
} from '../core/options/rules.ts'
import { cronRule, type Schedule } from '../operations/schedule.ts'
import type { Broker } from '../ports/broker.ts'
import { type ClockAndRandomOptions, clockAndRandomRules } from '../ports/clock.ts'
import type { Observer } from '../ports/observer.ts'
import type { Replay } from '../ports/replays.ts'
import type { Store } from '../ports/store.ts'
import { type Tracing, tracingRule } from '../ports/tracing.ts'
import { observerRule, port } from '../runtime/option-rules.ts'
import { replayAutomatically } from './automatic.ts'
import { consumerGates, type GateConsumer } from './consumer-gates.ts'
import { DEFAULT_MAX_AGE_MS } from './gates.ts'
import { replayToBroker } from './routes.ts'
import type { ReplayTarget } from './target.ts'

/** Options of `startAutomaticReplay()`. */
export interface AutomaticReplayOptions extends ClockAndRandomOptions {
  /** The store with the dead letters to replay. */
  readonly store: Store
  /** When it runs: the five fields of a cron pattern, in UTC, such as `0 * * * *` for every hour. */
  readonly cron: string
  /** The most letters of one run [50]. */
  readonly batchSize?: number | undefined
  /** The oldest letter that it sends, in ms since its first failure [86 400 000: one day]. People decide about older ones. */
  readonly maxAgeMs?: number | undefined
  /** Whether a person must approve each plan [false]. The first run after the approval starts it. */
  readonly needsApproval?: boolean | undefined
  /** The consumers of this process [none]. Payloads must fit their schemas, and replays wait while a breaker is open. */
  readonly consumers?: readonly GateConsumer[] | undefined
  /** Takes the events of letters that came from it [the broker of the store]. */
  readonly broker?: Broker | undefined
  /** Takes the events of other letters, such as `sinkReplays(dispatcher)` for those of sinks [none: they are not sent]. */
  readonly target?: ReplayTarget | undefined
  /** Receives `replaySent` and `replayItemEnded` [none]. Metrics count both. */
  readonly observer?: Observer | undefined
  /** Gives each replayed event its own trace [none]. */
  readonly tracing?: Tracing | undefined
  /** Receives each replay when its run has ended [none]. */
  readonly onRun?: ((replay: Replay) => void) | undefined
  /** Receives errors of a run [none]. The schedule goes on with the next run. */
  readonly onError?: ((error: unknown) => void) | undefined
}

const DEFAULT_BATCH = 50
const MAX_BATCH = 1_000
/** The part of an id that names the runner in the audit. */
const OWNER_DIGITS = 12

const rules = {
  store: custom(isStore, 'give a whole store, such as openSqlite(…) or openPostgres(…)'),
  cron: cronRule,
  batchSize: withDefault(integer({ min: 1, max: MAX_BATCH }), DEFAULT_BATCH),
  maxAgeMs: withDefault(milliseconds({ min: 1 }), DEFAULT_MAX_AGE_MS),
  needsApproval: withDefault(flag(), false),
  consumers: withDefault(list(port<GateConsumer>('a consumer', 'health')), []),
  broker: optional(port<Broker>('a broker', 'publish', 'subscribe', 'close')),
  target: optional(port<ReplayTarget>('a replay target', 'send')),
  observer: optional(observerRule),
  tracing: tracingRule,
  onRun: withDefault(listener<(replay: Replay) => void>(), () => {}),
  onError: withDefault(listener<(error: unknown) => void>(), () => {}),
  ...clockAndRandomRules,
}

/**
 * Replays letters with `autoReplay: true` on a schedule, inside the service: through the same gates, stages and halt rules as
 * the replay of a person. Where several processes do this with one store, one of them does each run.
 */
export function startAutomaticReplay(options: AutomaticReplayOptions): Schedule {
  const { broker, target, consumers, clock, random, ...settings } = resolveOptions(
    'automaticReplay',
    rules,
    options,
    ({ store, broker, target }, fault) => {
      if (broker === undefined && target === undefined && store.broker === undefined)
        fault('broker', 'give the broker that takes the events: the store has none')
    },
  )
  const newId = createIdSource(random)
  const own = broker ?? settings.store.broker
  return replayAutomatically({
    ...settings,
    target: own === undefined ? target! : replayToBroker(own, target),
    environment: { clock, newId, ...consumerGates(consumers, clock) },
    owner: `service ${newId(clock.now()).slice(-OWNER_DIGITS)}`,
  })
}

function isStore(value: unknown): value is Store {
  return typeof value === 'object' && value !== null && 'deadLetters' in value && 'replays' in value
}
