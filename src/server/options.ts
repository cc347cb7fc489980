import { DEFAULT_MASKS, type Masks } from '../core/dead-letter/masks.ts'
import { DEFAULT_RETENTION_MS, retentionRule } from '../core/dead-letter/retention.ts'
import { prefixRule } from '../core/metrics/prefix.ts'
import { checkAccess, tokenRule } from '../core/options/access.ts'
import { type AgentOptions, agentsRule } from '../core/options/agents.ts'
import { basePathRule } from '../core/options/base-path.ts'
import { group, resolveOptions } from '../core/options/resolve.ts'
import {
  custom,
  flag,
  having,
  integer,
  list,
  listener,
  milliseconds,
  number,
  optional,
  orWord,
  text,
  withDefault,
} from '../core/options/rules.ts'
import { type WatchOptions, watchRule } from '../core/watch/options.ts'
import { cronRule } from '../operations/schedule.ts'
import { type ClockAndRandomOptions, clockAndRandomRules } from '../ports/clock.ts'
import type { Collector } from '../ports/collector.ts'
import type { Logger } from '../ports/logger.ts'
import type { Notifier } from '../ports/notifier.ts'
import type { StandardSchema } from '../ports/schema.ts'
import type { Store } from '../ports/store.ts'
import { type Tracing, tracingRule } from '../ports/tracing.ts'
import type { PlanRequest } from '../replay/plan-options.ts'
import type { ReplayBroker } from '../replay/routes.ts'
import type { ReplayTarget } from '../replay/target.ts'
import type { Consumer } from '../runtime/consumer/consumer.ts'
import { DEFAULT_DEGRADED_AT } from '../runtime/consumer/health.ts'
import type { FleetDispatcher } from '../runtime/fleet/report.ts'
import type { LiveMetrics } from '../runtime/metrics/create-metrics.ts'
import type { TokenOptions } from './auth/authenticator.ts'
import type { RequestLimitOptions } from './auth/request-limiter.ts'
import { type SignInOptions, signInRule } from './auth/sign-in-options.ts'
import type { DemoControl } from './demo-control.ts'
import {
  DEFAULT_STREAMS_PER_TOKEN,
  DEFAULT_STREAMS_TOTAL,
  type StreamLimits,
} from './stream/stream-limiter.ts'
import type { CollectorAssignment } from './work/collecting.ts'
import type { ScheduleOptions } from './work/schedules.ts'

/** Defaults for plans that do not set these values. */
export type ReplayDefaults = Pick<PlanRequest, 'stages' | 'perSecond' | 'haltRefailRatio' | 'maxAgeMs'>

/** Options of `createServer()`. */
export interface ServerOptions extends ClockAndRandomOptions {
  /** One store, or a map of names to stores, which are shown as one. The caller closes them. */
  readonly stores: Store | Readonly<Record<string, Store>>
  /**
   * The consumers of this process [none]. The console shows and controls their breakers and pauses, and replays wait for
   * them.
   */
  readonly consumers?: readonly Consumer[] | undefined
  /** Dispatchers of this process, for the metrics and the fleet [none]. */
  readonly dispatchers?: readonly FleetDispatcher[] | undefined
  /**
   * The name of the service in this process [none]. With a name, the process joins the fleet of the first store that keeps
   * one, with these consumers and dispatchers. Leave it out if the service calls `joinFleet()` itself.
   */
  readonly service?: string | undefined
  /** The version of that service, for the fleet [none]. The console shows two versions side by side during a release. */
  readonly version?: string | undefined
  /** Its release, as on letters, for the fleet [none]. */
  readonly release?: string | undefined
  /** The metrics that `/metrics` shows; give those of the consumers and dispatchers of this process [its own]. */
  readonly metrics?: LiveMetrics | undefined
  /** The prefix of every metric name [lazaret_]. */
  readonly metricsPrefix?: string | undefined
  /**
   * Collectors bring dead letters of other systems into a store, the first one unless it is named, and send replays
   * back [none]. The server starts and closes them.
   */
  readonly collectors?: readonly CollectorAssignment[] | undefined
  /**
   * Brokers beside those of the stores [none]. Each takes the replays of letters whose origin has its name, such as letters
   * of RabbitMQ that Postgres keeps, and unblocks the keys of those that are discarded. The caller closes them.
   */
  readonly brokers?: readonly ReplayBroker[] | undefined
  /**
   * Receives an alert when a channel crosses a limit, and when it is within the limit again [none]. The caller closes
   * it.
   */
  readonly notifier?: Notifier | undefined
  /** What the API masks in letters [the built-in names and patterns]. Make it with `createMasks(…)`. */
  readonly masks?: Masks | undefined
  /** The callers that the server lets in [none: it listens on a loopback address only]. */
  readonly tokens?: readonly TokenOptions[] | undefined
  /** How people sign in to the console, beside tokens [tokens only]. */
  readonly signIn?: SignInOptions | undefined
  /** Whether the server refuses every change, also those of admins [false]. */
  readonly readOnly?: boolean | undefined
  /** Whether another person than the planner must approve a replay [false]. */
  readonly needsApproval?: boolean | undefined
  /**
   * Values for replay plans that do not set them: stages, events per second, halt ratio, maximum age [1, 10, 100,
   * rest; 50 per second; 0.2; 1 day].
   */
  readonly replayDefaults?: ReplayDefaults | undefined
  /**
   * Takes replays that no broker of a store takes: those of stores without a broker, and of letters without one, such
   * as those of a dispatcher's sinks [none].
   */
  readonly replayTarget?: ReplayTarget | undefined
  /**
   * Payload schemas by channel [those of `consumers`]. A replay does not send an event whose payload does not fit.
   */
  readonly schemas?: Readonly<Record<string, StandardSchema>> | undefined
  /** The request rate for each token [100 per second, burst 400]. */
  readonly rateLimit?: RequestLimitOptions | undefined
  /**
   * What agents may do at `/mcp` [they read]. They never do more than the role of their token allows, and people approve
   * what they start. `'off'` takes the tools off the server.
   */
  readonly agents?: AgentOptions | 'off' | undefined
  /**
   * How many streams of changes may be open at once [20 for each token, 200 in all]. The server refuses further ones
   * with 429.
   */
  readonly streams?: StreamLimits | undefined
  /**
   * How long clean-up keeps decided letters, resolved or discarded, after their last change [7 days]. Stores with a
   * retention of their own, file and Redis, apply that.
   */
  readonly retentionMs?: number | 'never' | undefined
  /**
   * The same for undecided letters without `expiresAfterMs`: dead, quarantined or parked. Clean-up then
   * deletes events that were never handled ['never'].
   */
  readonly expireUndecidedAfterMs?: number | 'never' | undefined
  /** Replays letters with `autoReplay: true` on a schedule [off]. */
  readonly automaticReplay?: ScheduleOptions['automaticReplay']
  /** When to delete letters past their retention, as a cron pattern in UTC [never]. */
  readonly cleanup?: ScheduleOptions['cleanup']
  /**
   * How the server watches channels: it keeps a snapshot of each in its store, and raises an alert when a value
   * crosses a limit [every 60 000 ms]. `'off'` takes no snapshots, and shows those of other processes.
   */
  readonly watch?: WatchOptions | 'off' | undefined
  /** The number of waiting letters from which health is degraded [100]. */
  readonly degradedAt?: number | undefined
  /**
   * Further host names of the server, beside loopback names and the address it listens on [none]. They need tokens or
   * `signIn`: without them every caller is admin.
   */
  readonly allowedHosts?: readonly string[] | undefined
  /**
   * The path below which the server answers, such as `/ops/lazaret` behind a proxy that has other paths for other servers
   * [/]. API, console, metrics and probes are below it; any other path gets 404.
   */
  readonly basePath?: string | undefined
  /** The folder of the console's files [the one of this package], or 'none'. */
  readonly consoleDir?: string | URL | undefined
  /** Additions for special servers [none]. */
  readonly extensions?:
    | {
        /** Controls of the demo, for the console [none]. */
        readonly demo?: DemoControl | undefined
      }
    | undefined
  /** Gives each replayed event its own trace, linked to the trace of the first delivery [none]. */
  readonly tracing?: Tracing | undefined
  /** Logs the background work of the server: collecting and replays [none]. */
  readonly logger?: Logger | undefined
  /** Receives unexpected errors [none]. */
  readonly onError?: ((error: unknown) => void) | undefined
}

const DEFAULT_REQUEST_LIMIT: RequestLimitOptions = Object.freeze({ perSecond: 100, burst: 400 })

const rules = {
  stores: custom(isStores, 'give a store, or a map of names to stores'),
  consumers: withDefault(list(having<Consumer>('give a consumer from createConsumer()', 'health')), []),
  dispatchers: withDefault(
    list(having<FleetDispatcher>('give a dispatcher from createDispatcher()', 'health', 'breaker', 'resend')),
    [],
  ),
  service: optional(text({ maxLength: 200 })),
  version: optional(text({ maxLength: 200 })),
  release: optional(text({ maxLength: 200 })),
  metrics: optional(having<LiveMetrics>('give metrics from createMetrics()', 'read', 'watch')),
  metricsPrefix: prefixRule,
  collectors: withDefault(
    list(
      group({ collector: having<Collector>('give a collector', 'start', 'depths'), store: optional(text()) }),
    ),
    [],
  ),
  brokers: withDefault(list(having<ReplayBroker>('give a broker with publish()', 'publish')), []),
  notifier: optional(having<Notifier>('give an object with notify()', 'notify')),
  masks: withDefault(having<Masks>('give masks from createMasks()', 'maskText'), DEFAULT_MASKS),
  tokens: withDefault(list(tokenRule), []),
  signIn: optional(signInRule),
  readOnly: withDefault(flag(), false),
  needsApproval: withDefault(flag(), false),
  replayDefaults: withDefault(
    having<ReplayDefaults>('give an object with stages, perSecond, haltRefailRatio or maxAgeMs'),
    {},
  ),
  replayTarget: optional(having<ReplayTarget>('give an object with send()', 'send')),
  schemas: withDefault(
    having<Readonly<Record<string, StandardSchema>>>('give a map of channels to schemas'),
    {},
  ),
  rateLimit: withDefault(
    group({
      perSecond: number({ min: 0, above: true, max: 1_000_000 }),
      burst: optional(integer({ min: 1, max: 1_000_000 })),
    }),
    DEFAULT_REQUEST_LIMIT,
  ),
  agents: orWord('off', agentsRule),
  streams: withDefault(
    group({
      perToken: withDefault(integer({ min: 1, max: 100_000 }), DEFAULT_STREAMS_PER_TOKEN),
      total: withDefault(integer({ min: 1, max: 100_000 }), DEFAULT_STREAMS_TOTAL),
    }),
    { perToken: DEFAULT_STREAMS_PER_TOKEN, total: DEFAULT_STREAMS_TOTAL },
  ),
  retentionMs: withDefault(retentionRule, DEFAULT_RETENTION_MS),
  expireUndecidedAfterMs: withDefault(retentionRule, 'never'),
  automaticReplay: optional(
    group({
      cron: cronRule,
      batchSize: integer({ min: 1, max: 1_000 }),
      maxAgeMs: milliseconds({ min: 1 }),
    }),
  ),
  cleanup: optional(group({ cron: cronRule })),
  watch: orWord('off', watchRule),
  degradedAt: withDefault(integer({ min: 0 }), DEFAULT_DEGRADED_AT),
  allowedHosts: withDefault(list(text({ maxLength: 253 })), []),
  basePath: withDefault(basePathRule, ''),
  consoleDir: optional(
    custom(
      (value): value is string | URL => typeof value === 'string' || value instanceof URL,
      "give the path or file URL of a folder, or 'none'",
    ),
  ),
  extensions: withDefault(
    group({ demo: optional(having<DemoControl>('give an object with state() and act()', 'state', 'act')) }),
    {
      demo: undefined,
    },
  ),
  tracing: tracingRule,
  logger: optional(
    having<Logger>('give a logger with debug(), info(), warn(), error()', 'debug', 'info', 'warn', 'error'),
  ),
  onError: withDefault(listener<(error: unknown) => void>(), () => {}),
  ...clockAndRandomRules,
}

export function resolveServer(input: ServerOptions) {
  return resolveOptions('server', rules, input, (given, fault) => {
    checkAccess(given, fault)
    const { stores, collectors } = given
    if (!isStore(stores) && Object.keys(stores).length === 0) fault('stores', 'give at least one store')
    const unknown = collectors.find(
      ({ store }) => store !== undefined && (isStore(stores) || !(store in stores)),
    )
    if (unknown !== undefined)
      fault('collectors', `unknown store '${unknown.store}'; give the name of a store`)
    const brokers = collectors.map(({ collector }) => collector.name)
    if (new Set(brokers).size < brokers.length) fault('collectors', 'give each collector a unique name')
  })
}

export function isStore(value: unknown): value is Store {
  return isObject(value) && isObject(value['deadLetters']) && isObject(value['audit'])
}

function isStores(value: unknown): value is ServerOptions['stores'] {
  return isStore(value) || (isObject(value) && Object.values(value).every(isStore))
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
