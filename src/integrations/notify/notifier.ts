import type { AlertFacts, AlertKind, AlertSeverity } from '../../core/alert/alert.ts'
import { type AlertInput, type AlertState, decideAlerts, NO_ALERTS } from '../../core/alert/decide.ts'
import { alertOf } from '../../core/alert/document.ts'
import type { DeadLetter } from '../../core/dead-letter/letter.ts'
import { type Cancel, settlesWithin } from '../../ports/clock.ts'
import type { Notice, Notifier } from '../../ports/notifier.ts'
import type { Observer } from '../../ports/observer.ts'
import { ClosedError } from '../../runtime/closed-error.ts'
import type { SinkHealth } from '../../runtime/dispatcher/dispatcher-health.ts'
import type { TrackResult } from '../../runtime/dispatcher/track/track-result.ts'
import { AlertKeeper } from './alert-keeper.ts'
import { Deliveries } from './deliveries.ts'
import { Mutes } from './mutes.ts'
import { noticingObserver } from './noticing-observer.ts'
import { type Meaning, Occurrences } from './occurrences.ts'
import { type NotifierOptions, type NotifierPolicy, resolveNotifier } from './options.ts'

/**
 * The limit on notices whose group is being looked up. Callers do not wait, so a hanging store could collect any number
 * of them.
 */
const MAX_UNDER_WAY = 10_000

/** An alert shows the latest event, or one that is at most this much older. */
const FACTS_MS = 1_000

/** The notifier that `createNotifier()` makes. */
export interface AlertNotifier<N extends string = string> extends Notifier {
  /** For a consumer's or dispatcher's `observer`: breakers that open and close, letters that are spilled. */
  readonly observer: Observer
  /** Sends the alert of a dead letter once more to the target that did not take it. */
  resend(letter: DeadLetter): Promise<TrackResult>
  health(): NotifierHealth<N>
  /** Resolves when every alert so far has its outcome. */
  flush(): Promise<void>
  /** Sends the pending alerts within the grace time, and saves the rest as dead letters. It can be called twice. */
  close(options?: { readonly graceMs?: number | undefined }): Promise<void>
}

/** The health of a notifier. */
export interface NotifierHealth<N extends string = string> {
  readonly targets: { readonly [name in N]: SinkHealth }
  readonly open: readonly {
    readonly key: string
    readonly kind: AlertKind
    readonly severity: AlertSeverity
    readonly since: number
    readonly count: number
  }[]
}

/**
 * Creates a notifier. It turns notices into alerts that begin, continue and end, so that people get one report for each
 * cause. Closing the notifier closes its sinks and stores, if nobody else uses them.
 */
export function createNotifier<N extends string>(options: NotifierOptions<N>): AlertNotifier<N> {
  return new Alerting(
    resolveNotifier(options as NotifierOptions),
  ) as AlertNotifier<string> as AlertNotifier<N>
}

class Alerting implements AlertNotifier {
  readonly observer: Observer
  readonly #policy: NotifierPolicy
  readonly #occurrences: Occurrences
  readonly #mutes: Mutes | undefined
  readonly #deliveries: Deliveries
  /** Lookups and sends in progress. */
  readonly #underWay = new Set<Promise<void>>()
  readonly #keeper: AlertKeeper | undefined
  /** Resolves when the alerts of the process before are restored. Undefined afterwards, and without `openAlerts`. */
  #restoring: Promise<void> | undefined
  #board: AlertState = NO_ALERTS
  #cancelWake: Cancel | undefined
  #closed: Promise<void> | undefined

  constructor(policy: NotifierPolicy) {
    const { masks, service, groups, clock, openAlerts } = policy
    this.#policy = policy
    this.#occurrences = new Occurrences(masks, service, key => this.#recall(key))
    this.#mutes = groups && new Mutes(groups, clock)
    this.#deliveries = new Deliveries(policy, {
      taken: target => this.#acceptsAgain(target),
      lost: (target, letter) => this.#isDeaf(target, letter),
    })
    this.#keeper = openAlerts && new AlertKeeper(openAlerts, clock)
    this.#restoring = this.#keeper && this.#restore(this.#keeper)
    this.observer = noticingObserver(notice => void this.notify(notice).catch(() => {}), clock)
  }

  notify(notice: Notice): Promise<void> {
    if (this.#closed !== undefined) return Promise.reject(new ClosedError('notifier'))
    // An alert about an undelivered alert would fail in the same way, and so on without end.
    if ('letter' in notice && alertOf(notice.letter.event) !== undefined) return Promise.resolve()
    const restoring = this.#restoring
    return restoring === undefined
      ? this.#take(notice)
      : this.#track(restoring.then(() => this.#take(notice)))
  }

  #take(notice: Notice): Promise<void> {
    const { input, group } = this.#occurrences.of(notice)
    const mutes = this.#mutes
    const asks = mutes !== undefined && group !== undefined && this.#underWay.size < MAX_UNDER_WAY
    return this.#track(asks ? this.#putUnlessMuted(mutes, group, input) : this.#put(input))
  }

  async resend(letter: DeadLetter): Promise<TrackResult> {
    if (this.#closed !== undefined) throw new ClosedError('notifier')
    return this.#deliveries.resend(letter)
  }

  health(): NotifierHealth {
    const open = Array.from(this.#board.open.values(), ({ key, kind, severity, since, count }) => ({
      key,
      kind,
      severity,
      since,
      count,
    }))
    return { targets: this.#deliveries.health(), open }
  }

  async flush(): Promise<void> {
    await this.#restoring
    await Promise.all(this.#underWay)
    await this.#deliveries.flush()
    await this.#flushKeeper(this.#policy.graceMs)
  }

  close({ graceMs = this.#policy.graceMs }: { readonly graceMs?: number | undefined } = {}): Promise<void> {
    this.#closed ??= this.#shutDown(graceMs)
    return this.#closed
  }

  async #restore(keeper: AlertKeeper): Promise<void> {
    const alerts = await keeper.read()
    this.#restoring = undefined
    if (alerts.length > 0) void this.#track(this.#put({ what: 'restore', alerts })).catch(() => {})
  }

  async #shutDown(graceMs: number): Promise<void> {
    await this.#restoring
    await settlesWithin(this.#policy.clock, graceMs, Promise.all(this.#underWay))
    void this.#track(this.#put({ what: 'close' }))
    this.#cancelWake?.()
    await Promise.all([this.#deliveries.close(graceMs), this.#flushKeeper(graceMs)])
  }

  /** `openAlerts` is code of the user and may hang. */
  async #flushKeeper(graceMs: number): Promise<void> {
    if (this.#keeper !== undefined) await settlesWithin(this.#policy.clock, graceMs, this.#keeper.flush())
  }

  /**
   * Looks up the group for the end of an alert too. Otherwise the end could overtake its begin, which may still wait for
   * the lookup.
   */
  async #putUnlessMuted(mutes: Mutes, group: string, input: Meaning['input']): Promise<void> {
    const isMuted = await mutes.isMuted(group)
    if (!isMuted) await this.#put(input)
    else if (input.what === 'seen') await this.#put({ what: 'over', key: input.occurrence.key, by: 'muted' })
    else await this.#put({ ...input, elsewhere: undefined })
  }

  #recall(key: string): AlertFacts | undefined {
    const alert = this.#board.open.get(key)
    if (alert === undefined || alert.factsAt + FACTS_MS <= this.#policy.clock.now()) return undefined
    return alert.facts
  }

  #put(input: AlertInput): Promise<void> {
    const { clock } = this.#policy
    const now = clock.now()
    const { board, messages, wakeAt } = decideAlerts(this.#board, input, now, this.#policy)
    this.#board = board
    this.#keeper?.keep(() => this.#board.open.values(), messages.length > 0)
    this.#cancelWake?.()
    this.#cancelWake =
      wakeAt === undefined
        ? undefined
        : clock.schedule(Math.max(0, wakeAt - now), () => {
            void this.#track(this.#put({ what: 'tick' })).catch(() => {})
          })
    // All messages are given to the dispatchers before this returns, so that the end of an alert never precedes its
    // begin.
    return Promise.all(messages.map(message => this.#deliveries.send(message))).then(() => {})
  }

  /** A target accepts alerts again. */
  #acceptsAgain(target: string): void {
    const key = this.#occurrences.keyOfTarget(target)
    if (this.#board.open.has(key)) this.#say({ what: 'over', key, by: 'recovery' })
  }

  #isDeaf(target: string, { cycle: { failure, reason } }: DeadLetter): void {
    const error = failure === undefined ? reason : `${failure.name}: ${failure.message}`
    this.#say({ what: 'seen', occurrence: this.#occurrences.undelivered(target, error) })
  }

  #say(input: AlertInput): void {
    if (this.#closed === undefined) void this.#track(this.#put(input)).catch(() => {})
  }

  #track(work: Promise<void>): Promise<void> {
    const settled = work.then(
      () => {},
      () => {},
    )
    this.#underWay.add(settled)
    void settled.then(() => this.#underWay.delete(settled))
    return work
  }
}
