import type { Masks } from '../../core/dead-letter/masks.ts'
import { type Alert, alertKey, valueNow } from '../../core/watch/alerts.ts'
import { type Clock, settlesWithin } from '../../ports/clock.ts'
import type { Ledger } from '../../ports/ledger.ts'
import type { ChannelNotice, Notifier } from '../../ports/notifier.ts'
import { SentNotices } from './sent-notices.ts'
import type { ChannelWatch } from './snapshot-reader.ts'

/** A notifier that takes longer is tried again with the next snapshot. */
const TIMEOUT_MS = 30_000
/** The claim of a notice outlasts the attempt to send it. */
const CLAIM_MS = TIMEOUT_MS + 10_000

interface ReportedAlert {
  readonly channel: string
  readonly alert: Alert
  /** Whether a server before this one reported it. */
  readonly isFromEarlierServer: boolean
}

interface SenderOptions {
  /** The name of the store, where there are others. */
  readonly store: string | undefined
  readonly notifier: Notifier | undefined
  /** Of the servers that share this ledger, one sends each notice. */
  readonly ledger: Ledger | undefined
  /** An alert that began longer ago was reported then. */
  readonly reportedAfterMs: number
  readonly masks: Masks
  readonly clock: Clock
  readonly onError: (error: unknown) => void
}

/**
 * Notifies people when alerts begin and end. If a delivery fails, the sender repeats it with the next snapshot and the
 * values of that time. After a server that died, the next one sends what that server had not sent.
 */
export class AlertSender {
  readonly #options: SenderOptions
  readonly #failures: FailureReporter
  readonly #sentNotices: SentNotices
  #reported: Map<string, ReportedAlert> = new Map()
  readonly #deliveries = new Map<string, Promise<void>>()

  constructor(options: SenderOptions) {
    this.#options = options
    this.#failures = new FailureReporter(options.onError)
    this.#sentNotices = new SentNotices(options.ledger, CLAIM_MS)
  }

  /** Restores the alerts that this server or another one has reported before. */
  async restore(watches: readonly ChannelWatch[]): Promise<void> {
    const { clock, reportedAfterMs } = this.#options
    const firing = firingAlerts(watches, true)
    for (const [key, reported] of firing) {
      const isOld = clock.now() - reported.alert.since >= reportedAfterMs
      if (!isOld && !(await this.#sentNotices.wasSent(noticeKey(key, reported, true)))) firing.delete(key)
    }
    this.#reported = firing
  }

  /** Starts the deliveries and does not wait for them. */
  report(watches: readonly ChannelWatch[], at: number): void {
    const now = firingAlerts(watches, false)
    for (const [key, alert] of now)
      if (!this.#reported.has(key))
        this.#deliver(key, alert, { at, firing: true, value: alert.alert.value }, () =>
          this.#reported.set(key, alert),
        )
    const newest = new Map(watches.map(watch => [watch.channel, watch.newestFirst[0]]))
    for (const [key, reported] of this.#reported) {
      if (now.has(key)) continue
      const last = newest.get(reported.channel)
      const value = last === undefined ? 0 : valueNow(last, reported.alert)
      this.#deliver(key, reported, { at, firing: false, value }, () => this.#reported.delete(key))
    }
  }

  /** Resolves when no delivery is running. */
  async flush(): Promise<void> {
    await Promise.all(this.#deliveries.values())
  }

  /** While another server sends the notice, this one asks again with the next snapshot. */
  #deliver(key: string, alert: ReportedAlert, now: NoticeValues, done: () => void): void {
    if (this.#deliveries.has(key)) return
    const notice = noticeOf(alert, now)
    const delivery = this.#failures
      .of(async () => {
        const send = () => this.#notify(notice)
        if (await this.#sentNotices.sendOnce(noticeKey(key, alert, now.firing), send)) done()
      })
      .then(() => void this.#deliveries.delete(key))
    this.#deliveries.set(key, delivery)
  }

  async #notify(notice: ChannelNotice): Promise<void> {
    const { notifier, clock } = this.#options
    if (notifier === undefined) return
    const delivery = notifier.notify(this.#masked(notice))
    if (!(await settlesWithin(clock, TIMEOUT_MS, delivery)))
      throw new Error(`watch: the notifier did not answer within ${TIMEOUT_MS / 1_000} s`)
    await delivery
  }

  #masked(notice: ChannelNotice): ChannelNotice {
    const { store, masks } = this.#options
    const { error } = notice
    return {
      ...notice,
      ...(store !== undefined && { store }),
      ...(error !== undefined && { error: { ...error, name: masks.maskText(error.name) } }),
    }
  }
}

type NoticeValues = Pick<ChannelNotice, 'at' | 'firing' | 'value'>

/** Names one notice. All servers name it alike, because the time comes from the snapshots in the store. */
function noticeKey(key: string, { alert: { since } }: ReportedAlert, firing: boolean): string {
  return `${firing ? 'begin' : 'end'}\n${since}\n${key}`
}

function noticeOf(
  { channel, alert: { rule, limit, error, since }, isFromEarlierServer }: ReportedAlert,
  { at, firing, value }: NoticeValues,
): ChannelNotice {
  const notice = { kind: 'channel_alert', at, channel, rule, firing, value, limit } as const
  return {
    ...notice,
    ...(error !== undefined && { error }),
    ...(isFromEarlierServer && !firing && { toldSince: since }),
  }
}

function firingAlerts(
  watches: readonly ChannelWatch[],
  isFromEarlierServer: boolean,
): Map<string, ReportedAlert> {
  return new Map(
    watches.flatMap(({ channel, alerts }) =>
      alerts.map(
        alert => [`${channel}\n${alertKey(alert)}`, { channel, alert, isFromEarlierServer }] as const,
      ),
    ),
  )
}

/**
 * Reports a series of failures once: after `tolerated` failures in a row it reports one, and then none until a success.
 * Without it, a store that is down for an hour would fill the log with the same line.
 */
export class FailureReporter {
  readonly #onError: (error: unknown) => void
  readonly #tolerated: number
  #failures = 0

  constructor(onError: (error: unknown) => void, tolerated = 0) {
    this.#onError = onError
    this.#tolerated = tolerated
  }

  /** Runs the work and returns whether it succeeded. */
  async of(work: () => Promise<void>): Promise<boolean> {
    try {
      await work()
      this.#failures = 0
      return true
    } catch (error) {
      if (this.#failures++ === this.#tolerated) this.#onError(error)
      return false
    }
  }
}
