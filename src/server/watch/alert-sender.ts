import type { Masks } from '../../core/dead-letter/masks.ts'
import { type Alert, alertKey, valueNow } from '../../core/watch/alerts.ts'
import type { ChannelNotice } from '../../ports/notifier.ts'
import { type DeliveryOptions, NoticeDeliveries } from './notice-deliveries.ts'
import type { ChannelWatch } from './snapshot-reader.ts'

interface ReportedAlert {
  readonly channel: string
  readonly alert: Alert
  /** Whether a server before this one reported it. */
  readonly isFromEarlierServer: boolean
}

interface SenderOptions extends DeliveryOptions {
  /** The name of the store, where there are others. */
  readonly store: string | undefined
  /** An alert that began longer ago was reported then. */
  readonly reportedAfterMs: number
  readonly masks: Masks
}

/**
 * Notifies people when alerts begin and end. If a delivery fails, the sender repeats it with the next snapshot and the
 * values of that time. After a server that died, the next one sends what that server had not sent.
 */
export class AlertSender {
  readonly #options: SenderOptions
  readonly #deliveries: NoticeDeliveries
  #reported: Map<string, ReportedAlert> = new Map()

  constructor(options: SenderOptions) {
    this.#options = options
    this.#deliveries = new NoticeDeliveries(options)
  }

  /** Restores the alerts that this server or another one has reported before. */
  async restore(watches: readonly ChannelWatch[]): Promise<void> {
    const { clock, reportedAfterMs } = this.#options
    const { sentNotices } = this.#deliveries
    const firing = firingAlerts(watches, true)
    for (const [key, reported] of firing) {
      const isOld = clock.now() - reported.alert.since >= reportedAfterMs
      if (!isOld && !(await sentNotices.wasSent(noticeKey(key, reported, true)))) firing.delete(key)
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
  flush(): Promise<void> {
    return this.#deliveries.flush()
  }

  #deliver(key: string, alert: ReportedAlert, now: NoticeValues, done: () => void): void {
    const name = noticeKey(key, alert, now.firing)
    this.#deliveries.start({ about: key, name, notice: this.#masked(noticeOf(alert, now)), done })
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
