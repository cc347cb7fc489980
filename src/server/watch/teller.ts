import type { Masks } from '../../core/dead-letter/masks.ts'
import { type Alert, alertKey, valueNow } from '../../core/watch/alerts.ts'
import type { ChannelNotice, Notifier } from '../../ports/notifier.ts'
import { FirstFailure } from './first-failure.ts'
import type { ChannelWatch } from './watched.ts'

interface Told {
  readonly channel: string
  readonly alert: Alert
}

export interface TellerOptions {
  readonly notifier: Notifier | undefined
  readonly masks: Masks
  readonly onError: (error: unknown) => void
}

/**
 * Tells people which alerts have begun and which are over. What could not be handed on is told with the next snapshot, as
 * it stands by then.
 */
export class Teller {
  readonly #options: TellerOptions
  readonly #failures: FirstFailure
  #told: Map<string, Told> = new Map()
  readonly #underWay = new Map<string, Promise<void>>()

  constructor(options: TellerOptions) {
    this.#options = options
    this.#failures = new FirstFailure(options.onError)
  }

  /** What was told before, by this server or another. */
  begin(watches: readonly ChannelWatch[]): void {
    this.#told = standing(watches)
  }

  /** Does not wait for people to be told. */
  tell(watches: readonly ChannelWatch[], at: number): void {
    const now = standing(watches)
    for (const [key, { channel, alert }] of now)
      if (!this.#told.has(key))
        this.#hand(key, noticeOf({ channel, alert }, { at, firing: true, value: alert.value }), () =>
          this.#told.set(key, { channel, alert }),
        )
    const newest = new Map(watches.map(watch => [watch.channel, watch.newestFirst[0]]))
    for (const [key, told] of this.#told) {
      if (now.has(key)) continue
      const last = newest.get(told.channel)
      const value = last === undefined ? 0 : valueNow(last, told.alert)
      this.#hand(key, noticeOf(told, { at, firing: false, value }), () => this.#told.delete(key))
    }
  }

  /** Resolves when nothing is being handed on any more. */
  async end(): Promise<void> {
    await Promise.all(this.#underWay.values())
  }

  #hand(key: string, notice: ChannelNotice, done: () => void): void {
    if (this.#underWay.has(key)) return
    const handing = this.#failures
      .of(async () => {
        await this.#options.notifier?.notify(this.#masked(notice))
        done()
      })
      .then(() => void this.#underWay.delete(key))
    this.#underWay.set(key, handing)
  }

  #masked(notice: ChannelNotice): ChannelNotice {
    const { error } = notice
    if (error === undefined) return notice
    return { ...notice, error: { ...error, name: this.#options.masks.maskText(error.name) } }
  }
}

function noticeOf(
  { channel, alert: { rule, limit, error } }: Told,
  { at, firing, value }: Pick<ChannelNotice, 'at' | 'firing' | 'value'>,
): ChannelNotice {
  const notice = { kind: 'channel_alert', at, channel, rule, firing, value, limit } as const
  return error === undefined ? notice : { ...notice, error }
}

function standing(watches: readonly ChannelWatch[]): Map<string, Told> {
  return new Map(
    watches.flatMap(({ channel, alerts }) =>
      alerts.map(alert => [`${channel}\n${alertKey(alert)}`, { channel, alert }] as const),
    ),
  )
}
