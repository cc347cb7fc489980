import type { Masks } from '../../core/dead-letter/masks.ts'
import { type Alert, alertKey, valueNow } from '../../core/watch/alerts.ts'
import { type Clock, within } from '../../ports/clock.ts'
import type { ChannelNotice, Notifier } from '../../ports/notifier.ts'
import type { ChannelWatch } from './snapshot-reader.ts'

/** Who takes longer to be told of something is told again with the next snapshot. */
const PATIENCE_MS = 30_000

interface Told {
  readonly channel: string
  readonly alert: Alert
  /** By a server before this one. */
  readonly isBefore: boolean
}

interface SenderOptions {
  /** The name of the store, where there are others. */
  readonly store: string | undefined
  readonly notifier: Notifier | undefined
  readonly masks: Masks
  readonly clock: Clock
  readonly onError: (error: unknown) => void
}

/**
 * Tells people which alerts have begun and which are over. What could not be handed on is told with the next snapshot, as
 * it stands by then.
 */
export class AlertSender {
  readonly #options: SenderOptions
  readonly #failures: FirstFailure
  #told: Map<string, Told> = new Map()
  readonly #underWay = new Map<string, Promise<void>>()

  constructor(options: SenderOptions) {
    this.#options = options
    this.#failures = new FirstFailure(options.onError)
  }

  /** What was told before, by this server or another. */
  begin(watches: readonly ChannelWatch[]): void {
    this.#told = standing(watches, true)
  }

  /** Does not wait for people to be told. */
  tell(watches: readonly ChannelWatch[], at: number): void {
    const now = standing(watches, false)
    for (const [key, begun] of now)
      if (!this.#told.has(key))
        this.#hand(key, noticeOf(begun, { at, firing: true, value: begun.alert.value }), () =>
          this.#told.set(key, begun),
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
        await this.#notify(notice)
        done()
      })
      .then(() => void this.#underWay.delete(key))
    this.#underWay.set(key, handing)
  }

  async #notify(notice: ChannelNotice): Promise<void> {
    const { notifier, clock } = this.#options
    if (notifier === undefined) return
    const handing = notifier.notify(this.#outside(notice))
    if (!(await within(clock, PATIENCE_MS, handing)))
      throw new Error(`watch: the notifier did not answer for ${PATIENCE_MS / 1_000} s`)
    await handing
  }

  #outside(notice: ChannelNotice): ChannelNotice {
    const { store, masks } = this.#options
    const { error } = notice
    return {
      ...notice,
      ...(store !== undefined && { store }),
      ...(error !== undefined && { error: { ...error, name: masks.maskText(error.name) } }),
    }
  }
}

function noticeOf(
  { channel, alert: { rule, limit, error, since }, isBefore }: Told,
  { at, firing, value }: Pick<ChannelNotice, 'at' | 'firing' | 'value'>,
): ChannelNotice {
  const notice = { kind: 'channel_alert', at, channel, rule, firing, value, limit } as const
  return {
    ...notice,
    ...(error !== undefined && { error }),
    ...(isBefore && !firing && { toldSince: since }),
  }
}

function standing(watches: readonly ChannelWatch[], isBefore: boolean): Map<string, Told> {
  return new Map(
    watches.flatMap(({ channel, alerts }) =>
      alerts.map(alert => [`${channel}\n${alertKey(alert)}`, { channel, alert, isBefore }] as const),
    ),
  )
}

/** Tells of one failure in a row, after so many that are nobody's trouble, and of the next only when it went well between. */
export class FirstFailure {
  readonly #onError: (error: unknown) => void
  readonly #tolerated: number
  #failures = 0

  constructor(onError: (error: unknown) => void, tolerated = 0) {
    this.#onError = onError
    this.#tolerated = tolerated
  }

  /** Whether it went well. */
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
