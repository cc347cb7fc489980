import { ALERT_SEVERITIES, type AlertKind, type AlertMessage } from '../../core/alert/alert.ts'
import { ALERT_EVENT_TYPE, alertDocument, alertOf } from '../../core/alert/document.ts'
import type { DeadLetter } from '../../core/dead-letter/letter.ts'
import { createIdSource, type IdSource } from '../../core/event/uuid.ts'
import { OptionsError } from '../../core/options/faults.ts'
import { exponential } from '../../core/retry/exponential.ts'
import { createDispatcher, type Dispatcher } from '../../runtime/dispatcher/dispatcher.ts'
import type { SinkHealth } from '../../runtime/dispatcher/dispatcher-health.ts'
import { type LaneOptions, mergeLaneOptions } from '../../runtime/dispatcher/lane/lane-options.ts'
import type { TrackResult } from '../../runtime/dispatcher/track/track-result.ts'
import { combineObservers } from '../../runtime/observe.ts'
import { ALERT_CHANNEL, linksOf } from './links.ts'
import { SEVERITY_OF } from './occurrences.ts'
import type { NotifierPolicy, RouteOptions } from './options.ts'
import { targetSink } from './target.ts'

/**
 * The retries last long, so that a chat or mail server that is down for some minutes still gets the alert. No event waits
 * for an alert.
 */
export const DEFAULT_DELIVERY = Object.freeze({
  retry: {
    attempts: 8,
    backoff: exponential({ baseMs: 1_000, maxMs: 60_000, jitter: 'equal' }),
    retryAfterMaxMs: 600_000,
  },
  whenOpen: 'wait',
  timeoutMs: 10_000,
  buffer: { maxEvents: 1_000 },
} satisfies LaneOptions)

/** The severities of events for those of alerts. The end of an alert is `info`. */
const EVENT_SEVERITY = { info: 'info', warning: 'warn', error: 'error', critical: 'fatal' } as const
const ACCEPT = { wait: 'accepted', onFailure: 'swallow' } as const

interface DeliveryEvents {
  /** A target has accepted a message. */
  taken(target: string): void
  /** A target did not accept an alert, which is now a dead letter. */
  lost(target: string, letter: DeadLetter): void
}

/**
 * Sends alerts to their targets. Each target has its own dispatcher. A message that is not for a target never reaches its
 * dispatcher, so that its breaker and its outcomes describe real messages only.
 */
export class Deliveries {
  readonly #policy: NotifierPolicy
  readonly #newId: IdSource
  readonly #dispatchers: ReadonlyMap<string, Dispatcher>

  constructor(policy: NotifierPolicy, events: DeliveryEvents) {
    this.#policy = policy
    this.#newId = createIdSource(policy.random)
    const names = Object.keys(policy.to)
    this.#dispatchers = new Map(names.map(name => [name, dispatcherFor(name, policy, events)]))
  }

  /** Gives a message to every target that its route allows. Resolves when their dispatchers have accepted it. */
  async send(message: AlertMessage): Promise<void> {
    const { route, clock, service } = this.#policy
    const payload = alertDocument(message, { service, links: linksOf(message, this.#policy) })
    const severity = message.status === 'resolved' ? 'info' : EVENT_SEVERITY[message.severity]
    const input = {
      id: this.#newId(clock.now()),
      type: ALERT_EVENT_TYPE,
      key: message.key,
      severity,
      payload,
    }
    const meant = [...this.#dispatchers].filter(([name]) => isFor(name, route[name], message))
    await Promise.all(meant.map(([, dispatcher]) => dispatcher.track(input, ACCEPT)))
  }

  resend(letter: DeadLetter): Promise<TrackResult> {
    const dispatcher = this.#dispatchers.get(letter.handler)
    if (dispatcher !== undefined) return dispatcher.resend(letter)
    const remedy = `resend letter ${letter.id} with a notifier that has this target; this one has ${[...this.#dispatchers.keys()].join(', ')}`
    throw new OptionsError('resend', [{ path: 'letter.handler', received: letter.handler, remedy }])
  }

  health(): Readonly<Record<string, SinkHealth>> {
    return Object.assign({}, ...Array.from(this.#dispatchers.values(), each => each.health().sinks))
  }

  async flush(): Promise<void> {
    await Promise.all(Array.from(this.#dispatchers.values(), each => each.flush()))
  }

  async close(graceMs: number): Promise<void> {
    await Promise.all(Array.from(this.#dispatchers.values(), each => each.close({ graceMs })))
  }
}

function dispatcherFor(name: string, policy: NotifierPolicy, events: DeliveryEvents): Dispatcher {
  const { to, deadLetters, spill, delivery, overrides, observer, clock, random } = policy
  const general = mergeLaneOptions(DEFAULT_DELIVERY, delivery) as LaneOptions
  const lost = ({ letter }: { readonly letter: DeadLetter }) => {
    if (!isAboutAlerts(letter)) events.lost(name, letter)
  }
  return createDispatcher({
    ...(mergeLaneOptions(general, overrides[name]) as LaneOptions),
    sinks: { [name]: targetSink(to[name]!, () => events.taken(name)) },
    deadLetters,
    spill,
    channel: ALERT_CHANNEL,
    observer: combineObservers({ letterSaved: lost, letterSpilled: lost }, observer),
    clock,
    random,
  })
}

/**
 * A failed notice about a target, or about the letters of alerts, causes no further notice: the chain would never end.
 */
function isAboutAlerts({ event }: DeadLetter): boolean {
  const alert = alertOf(event)
  return alert?.kind === 'alert_undelivered' || alert?.channel === ALERT_CHANNEL
}

function isFor(name: string, route: RouteOptions = {}, { kind, severity, facts }: AlertMessage): boolean {
  // A target does not receive alerts about its own failures.
  if (facts.target === name) return false
  return kind === 'digest' || isRouted(route, kind, severity)
}

/** Whether a target with this route receives alerts of this kind. */
export function isRouted(route: RouteOptions, kind: AlertKind, severity = SEVERITY_OF[kind]): boolean {
  const { atLeast = 'info', kinds } = route
  const isGrave = ALERT_SEVERITIES.indexOf(severity) >= ALERT_SEVERITIES.indexOf(atLeast)
  return isGrave && (kinds === undefined || kinds.includes(kind))
}
