import { ALERT_KINDS, ALERT_SEVERITIES, type AlertKind, type AlertSeverity } from '../../core/alert/alert.ts'
import { type AlertPolicyOptions, alertPolicyRules } from '../../core/alert/policy.ts'
import { DEFAULT_MASKS, type Masks } from '../../core/dead-letter/masks.ts'
import { group, type Relations, type Resolved, resolveOptions } from '../../core/options/resolve.ts'
import {
  custom,
  having,
  list,
  milliseconds,
  oneOf,
  optional,
  type Rule,
  text,
  withDefault,
} from '../../core/options/rules.ts'
import { type ClockAndRandomOptions, clockAndRandomRules } from '../../ports/clock.ts'
import type { DeadLetterQueue, DeadLetterStore, Spill } from '../../ports/dead-letters.ts'
import type { Groups } from '../../ports/groups.ts'
import type { OpenAlerts } from '../../ports/notifier.ts'
import type { Observer } from '../../ports/observer.ts'
import type { Sink } from '../../ports/sink.ts'
import { type LaneOptions, laneRule } from '../../runtime/dispatcher/lane/lane-options.ts'
import { observerRule, port } from '../../runtime/option-rules.ts'

/** The alerts that a target gets. A filter that is left out passes all alerts. Digests go to every target. */
export interface RouteOptions {
  /** The target gets alerts of this severity and higher ones [all severities]. */
  readonly atLeast?: AlertSeverity | undefined
  /** The target gets alerts of these kinds [all kinds]. */
  readonly kinds?: readonly AlertKind[] | undefined
}

/** Options of `createNotifier()`. */
export interface NotifierOptions<N extends string = string>
  extends AlertPolicyOptions,
    ClockAndRandomOptions {
  /** The targets of alerts by name: sinks of `lazaret/sinks`, or your own. */
  readonly to: { readonly [name in N]: Sink }
  /** The alerts that each target gets [all alerts to all targets]. */
  readonly route?: { readonly [name in NoInfer<N>]?: RouteOptions | undefined } | undefined
  /** The queue or store of undelivered alerts, from which they can be sent again. */
  readonly deadLetters: DeadLetterQueue | DeadLetterStore
  /** Takes undelivered alerts while their dead-letter store is unreachable [none]. */
  readonly spill?: Spill | undefined
  /** The groups of a store [none]. Letters of a muted group raise no alert. */
  readonly groups?: Pick<Groups, 'get'> | undefined
  /**
   * Keeps open alerts over a restart, such as `fileOpenAlerts({ path })` of `lazaret/file` [none: the next process does not know
   * them]. Each process needs its own.
   */
  readonly openAlerts?: OpenAlerts | undefined
  /** Masks for the texts of errors, in addition to masks that were applied before [the built-in ones]. */
  readonly masks?: Masks | undefined
  /**
   * The name of the service, for services that send alerts to the same place [none]. Replicas of one service share
   * the name.
   */
  readonly service?: string | undefined
  /** The address of the console [none]. Alerts then link to it. */
  readonly consoleUrl?: string | undefined
  /** A page for each kind of alert with instructions [none]. */
  readonly runbooks?: { readonly [K in AlertKind]?: string | undefined } | undefined
  /**
   * How alerts are delivered: retries, breaker, timeout [`DEFAULT_DELIVERY`: 8 attempts from 1 s up to 1 min apart,
   * timeout 10 s, wait while the breaker is open].
   */
  readonly delivery?: LaneOptions | undefined
  /** Delivery options that differ for one target [none]. */
  readonly overrides?: { readonly [name in NoInfer<N>]?: LaneOptions | undefined } | undefined
  /** Receives the attempts and outcomes of deliveries [none]. */
  readonly observer?: Observer | undefined
  /** The time that `close` gives to alerts in progress, in ms [10 s]. */
  readonly graceMs?: number | undefined
}

/** The default of the option `graceMs`. */
export const DEFAULT_NOTIFIER_GRACE_MS = 10_000
const DAY_MS = 86_400_000

const severity = oneOf(...ALERT_SEVERITIES)
const kind = oneOf(...ALERT_KINDS)
const routeRule = group({ atLeast: optional(severity), kinds: optional(list(kind, { minItems: 1 })) })

/** Any object with named fields. The code that uses a name checks the name. */
function byName<T>(rule: Rule<T>, remedy: string): Rule<Readonly<Record<string, T>>> {
  return {
    read(value, path, faults) {
      if (value === undefined) return {}
      if (typeof value !== 'object' || value === null || Array.isArray(value)) {
        faults.add(path, value, remedy)
        return {}
      }
      const given = Object.entries(value).filter(([, each]) => each !== undefined)
      return Object.fromEntries(
        given.map(([name, each]) => [name, rule.read(each, `${path}.${name}`, faults)]),
      )
    },
  }
}

/** Checks that the value is an object. The lanes check its fields when they are created. */
const laneOptions: Rule<LaneOptions> = {
  read(value, path, faults) {
    laneRule.read(value, path, faults)
    return value as LaneOptions
  },
}

const consoleUrlRule: Rule<string> = {
  read(value, path, faults) {
    const url = typeof value === 'string' && URL.canParse(value) ? new URL(value) : undefined
    if (url !== undefined && /^https?:$/.test(url.protocol) && url.username === '' && url.search === '')
      return `${url.origin}${url.pathname}`.replace(/\/+$/, '')
    faults.add(path, value, "give the address of the console, such as 'https://lazaret.example'")
    return ''
  },
}

const runbookUrl = custom(
  (value): value is string => typeof value === 'string' && /^https?:\/\/./.test(value),
  "give a page's address, such as 'https://wiki.example/runbooks/dead-letters'",
)

const rules = {
  ...alertPolicyRules,
  to: {
    read(value, path, faults) {
      const sinks = byName(port<Sink>('a sink', 'write'), HOW_TO_NAME).read(value, path, faults)
      if (Object.keys(sinks).length === 0) faults.add(path, value, HOW_TO_NAME)
      return sinks
    },
  } satisfies Rule<Readonly<Record<string, Sink>>>,
  route: byName(routeRule, 'give atLeast and kinds by the name of a target'),
  deadLetters: port<DeadLetterQueue | DeadLetterStore>('a dead-letter store', 'send', 'close'),
  spill: optional(port<Spill>('a spill', 'send', 'drain', 'size')),
  groups: optional(port<Pick<Groups, 'get'>>('the groups of a store', 'get')),
  openAlerts: optional(port<OpenAlerts>('a store of open alerts', 'read', 'write')),
  masks: withDefault(having<Masks>('give masks of createMasks', 'maskText'), DEFAULT_MASKS),
  service: optional(text({ maxLength: 100 })),
  consoleUrl: optional(consoleUrlRule),
  runbooks: group(Object.fromEntries(ALERT_KINDS.map(name => [name, optional(runbookUrl)]))) as Rule<{
    readonly [K in AlertKind]?: string | undefined
  }>,
  delivery: withDefault(laneOptions, {}),
  overrides: byName(laneOptions, 'give lane options by the name of a target'),
  observer: withDefault<Observer>(observerRule, {}),
  graceMs: withDefault(milliseconds({ max: DAY_MS }), DEFAULT_NOTIFIER_GRACE_MS),
  ...clockAndRandomRules,
}

const HOW_TO_NAME = 'give at least one target by name, such as { ops: slack({ url }) }'

export type NotifierPolicy = Resolved<typeof rules>

const relations: Relations<typeof rules> = ({ to, route, overrides }, fault) => {
  const names = Object.keys(to)
  for (const [field, given] of [
    ['route', route],
    ['overrides', overrides],
  ] as const) {
    const unknown = Object.keys(given).find(name => !names.includes(name))
    if (unknown !== undefined)
      fault(field, `unknown target '${unknown}'; the targets are ${names.join(', ')}`)
  }
}

export function resolveNotifier(options: NotifierOptions): NotifierPolicy {
  return resolveOptions('notifier', rules, options, relations)
}
