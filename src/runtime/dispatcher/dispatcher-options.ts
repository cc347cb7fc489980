import { channelRule } from '../../core/event/channel.ts'
import type { LazaretEvent } from '../../core/event/event.ts'
import { type EventLimitsOptions, eventLimitsRule } from '../../core/event/limits.ts'
import type { Faults } from '../../core/options/faults.ts'
import { fileOptions } from '../../core/options/file-options.ts'
import { group, type Resolved, resolveBy } from '../../core/options/resolve.ts'
import {
  custom,
  milliseconds,
  optional,
  orWord,
  type Rule,
  text,
  withDefault,
} from '../../core/options/rules.ts'
import type { DeadLetterQueue, DeadLetterStore } from '../../ports/dead-letters.ts'
import type { Journal } from '../../ports/journal.ts'
import type { Sink } from '../../ports/sink.ts'
import { type EventLimitOptions, eventLimitRule } from '../limiters.ts'
import { type CommonOptions, commonRules, DAY_MS, deadLettersRule, port } from '../option-rules.ts'
import { type OptionValues, staysGiven } from '../reload/policy-source.ts'
import {
  type LaneOptions,
  type LaneSettings,
  laneRule,
  laneRules,
  mergeLaneOptions,
} from './lane/lane-options.ts'
import { type CriticalOptions, criticalRule } from './track/critical.ts'
import { failOnErrorInRule, type TrackingContext } from './track/tracking-mode.ts'

/** Options of `createDispatcher()`. The lane options apply to every sink. */
export interface DispatcherOptions<N extends string = string> extends LaneOptions, CommonOptions {
  /** Where events go, by name. */
  readonly sinks: { readonly [name in N]: Sink }
  /** Options that differ for one sink [none]. The lane options beside `sinks` apply to all sinks. */
  readonly overrides?: { readonly [name in NoInfer<N>]?: LaneOptions | undefined } | undefined
  /** Where events go that were given up on. */
  readonly deadLetters: DeadLetterQueue | DeadLetterStore
  /** How many events a second are let in, retries included [no limit]. */
  readonly rateLimit?: EventLimitOptions | undefined
  /** Says which events must be durable before `track` resolves, whatever it is asked to wait for [none]. */
  readonly critical?: CriticalOptions | ((event: LazaretEvent) => boolean) | undefined
  /**
   * Keeps critical events until they are delivered, and keeps events that `close` could not send [none]. Without a
   * journal, `track` waits for the outcome of critical events, and the events left at the end become dead letters.
   */
  readonly journal?: Journal | undefined
  /**
   * How often the dispatcher probes sinks with an open breaker [every 10 000 ms]. `'off'` leaves the probe to the
   * next batch.
   */
  readonly healthCheck?:
    | {
        /** The time between two probes, in ms [10 000]. */
        readonly everyMs?: number | undefined
      }
    | 'off'
    | undefined
  /**
   * Where `track` throws when no sink took the event: in a `request`, in a `job`, and in neither, as `cli`
   * [`['request', 'cli']`]. Elsewhere the failure is swallowed and counted. A job and a call can say otherwise.
   */
  readonly failOnErrorIn?: readonly TrackingContext[] | undefined
  /** For events that name none ['events']. */
  readonly channel?: string | undefined
  /** The source of events that name none, as a URI reference [none]. */
  readonly source?: string | undefined
  /** The largest event that the dispatcher accepts [1 MiB payload, depth 64, 100 headers of 64 KiB together]. */
  readonly limits?: EventLimitsOptions | undefined
}

const DEFAULT_CHANNEL = 'events'
const DEFAULT_CHECK_EVERY_MS = 10_000
const SINK_NAME = /^[A-Za-z0-9][\w.-]{0,99}$/

function isRecord<T>(value: unknown): value is Readonly<Record<string, T>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const sinkRule = port<Sink>('a sink', 'write')

/** Sinks by name. A name is a metric's label and a letter's handler, so it keeps to simple characters. */
const sinksRule: Rule<Readonly<Record<string, Sink>>> = {
  read(value, path, faults) {
    if (!isRecord<Sink>(value) || Object.keys(value).length === 0) {
      faults.add(path, value, 'give at least one sink by name, such as { loki: loki({ url }) }')
      return {}
    }
    for (const [name, sink] of Object.entries(value)) {
      if (!SINK_NAME.test(name)) faults.add(path, name, "name sinks with letters, digits, '.', '_' and '-'")
      sinkRule.read(sink, `${path}.${name}`, faults)
    }
    return Object.freeze({ ...value })
  },
}

const rules = {
  ...laneRules,
  sinks: sinksRule,
  overrides: withDefault(custom(isRecord<LaneOptions>, 'give lane options by the name of a sink'), {}),
  deadLetters: deadLettersRule,
  rateLimit: optional(eventLimitRule),
  critical: optional(criticalRule),
  journal: optional(port<Journal>('a journal', 'append', 'remove', 'pending')),
  healthCheck: orWord(
    'off',
    group({ everyMs: withDefault(milliseconds({ min: 1, max: DAY_MS }), DEFAULT_CHECK_EVERY_MS) }),
  ),
  failOnErrorIn: failOnErrorInRule,
  channel: withDefault(channelRule, DEFAULT_CHANNEL),
  source: optional(text({ maxLength: 512 })),
  limits: eventLimitsRule,
  ...commonRules,
}

/** The options of a dispatcher that a config file can set. */
export const dispatcherFileOptions = fileOptions(rules, ['leaveOpen'])

type Settings = Resolved<typeof rules>

export interface DispatcherPolicy extends Omit<Settings, keyof typeof laneRules | 'overrides'> {
  /** What holds for each sink. */
  readonly lanes: Readonly<Record<string, LaneSettings>>
}

export function resolveDispatcher(input: DispatcherOptions): DispatcherPolicy {
  return resolveBy('dispatcher', dispatcherRule, input)
}

const dispatcherRule: Rule<DispatcherPolicy> = {
  read(value, path, faults) {
    const { overrides, ...settings } = group(rules).read(value, path, faults)
    // With a fault in what holds for all, a sink's own options are still read, over the defaults.
    const forAll = faults.list.length === 0 ? (value as LaneOptions) : {}
    const lanes = readLanes(settings.sinks, forAll, overrides, `${path}.overrides`, faults)
    return Object.freeze({ ...settings, lanes })
  },
}

function readLanes(
  sinks: Readonly<Record<string, Sink>>,
  forAll: LaneOptions,
  overrides: Readonly<Record<string, LaneOptions>>,
  path: string,
  faults: Faults,
): Readonly<Record<string, LaneSettings>> {
  const names = Object.keys(sinks)
  for (const name of Object.keys(overrides))
    if (!names.includes(name)) faults.add(path, name, `name one of the sinks: ${names.join(', ')}`)
  const lanes = names.map(name => {
    const merged = laneOptionsOf(sinks[name], forAll, ownOf(overrides, name))
    return [name, laneRule.read(merged, `${path}.${name}`, faults)] as const
  })
  return Object.freeze(Object.fromEntries(lanes))
}

/** A sink may have the name of something that every object inherits. */
function ownOf<T>(overrides: Readonly<Record<string, T>>, sink: string): T | undefined {
  return Object.hasOwn(overrides, sink) ? overrides[sink] : undefined
}

/** The sink's own preference counts least: options for all lanes are set on purpose. */
function laneOptionsOf(sink: Sink | undefined, forAll: LaneOptions, own: LaneOptions | undefined): unknown {
  return mergeLaneOptions(mergeLaneOptions({ batch: sink?.batch }, forAll) as LaneOptions, own)
}

/** The options of each lane, as the user gave them. */
export function laneInputs(input: DispatcherOptions): Readonly<Record<string, OptionValues>> {
  const { sinks, overrides = {} } = input
  const lanes = Object.keys(sinks).map(name => [
    name,
    laneOptionsOf(sinks[name], input, ownOf(overrides, name)),
  ])
  return Object.fromEntries(lanes)
}

/** The dispatcher's parts have got the others already. */
const ONLY_BY_RESTART: readonly string[] = ['channel', 'source', 'limits', 'healthCheck', 'release', 'host']

/** Whether a running dispatcher can take over another value of an option. Lanes decide about theirs. */
export function canChangeDispatcher(name: string, from: unknown, to: unknown): boolean {
  return name === 'rateLimit' ? staysGiven(from, to) : !ONLY_BY_RESTART.includes(name)
}

export function isLaneOption(name: string): boolean {
  return name === 'overrides' || Object.hasOwn(laneRules, name)
}

/** Puts new options into the policy of a running dispatcher. */
export function changeDispatcher(policy: DispatcherPolicy, to: DispatcherPolicy): void {
  const { caps, critical, expiresAfterMs, replayLimit, autoReplay } = to
  const { filter, failOnErrorIn, graceMs, metadata } = to
  Object.assign(policy, { caps, critical, expiresAfterMs, replayLimit, autoReplay })
  Object.assign(policy, { filter, failOnErrorIn, graceMs, metadata })
}
