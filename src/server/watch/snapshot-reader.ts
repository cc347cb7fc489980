import { type Alert, alertKey, alertsOf } from '../../core/watch/alerts.ts'
import { type ChannelLimits, policyOf, type WatchPolicy } from '../../core/watch/options.ts'
import { type Trend, trendOf } from '../../core/watch/trend.ts'
import type { Clock } from '../../ports/clock.ts'
import type { ChannelSnapshot, SnapshotQuery } from '../../ports/snapshots.ts'
import type { Federation, NamedStore } from '../stores/federation.ts'
import { TtlCache } from '../stores/ttl-cache.ts'

/** The cache is short, because another server may have taken newer snapshots. */
const CACHE_MS = 5_000
/** How far back the reader searches for the start of an alert: a day, with a snapshot each minute. */
const MAX_LOOK_BACK = 1_500
const MAX_PER_CHANNEL = 10_000

/** The state of a channel in one store, according to its latest snapshots. */
export interface ChannelWatch {
  readonly store: string
  readonly channel: string
  readonly newestFirst: readonly [ChannelSnapshot, ...ChannelSnapshot[]]
  readonly trend: Trend
  readonly alerts: readonly Alert[]
}

interface AlertStart {
  readonly since: number
  /** The newest snapshot in which the alert was firing. */
  readonly seenAt: number
}

/** Reads the snapshots of all servers, and derives trends and alerts from them. */
export class SnapshotReader {
  readonly policy: WatchPolicy
  readonly #limitsOfConsumers: (channel: string) => readonly ChannelLimits[]
  readonly #stores: Federation
  readonly #clock: Clock
  readonly #cache: TtlCache
  /** The known start of each firing alert, by store. */
  readonly #alertStarts = new Map<string, ReadonlyMap<string, AlertStart>>()

  /** `limitsOfConsumers` are the limits that the consumers of a channel in this process set. */
  constructor(
    stores: Federation,
    policy: WatchPolicy,
    clock: Clock,
    limitsOfConsumers: (channel: string) => readonly ChannelLimits[],
  ) {
    this.#stores = stores
    this.policy = policy
    this.#limitsOfConsumers = limitsOfConsumers
    this.#clock = clock
    this.#cache = new TtlCache(clock)
  }

  /** The policy with the limits of this channel. */
  policyOf(channel: string): WatchPolicy {
    return policyOf(this.policy, channel, this.#limitsOfConsumers(channel))
  }

  read(named: NamedStore): Promise<readonly ChannelWatch[]> {
    return this.#cache.get(named.name, CACHE_MS, () => this.#readNow(named))
  }

  /** The channels of every store that answers. */
  async all(): Promise<readonly ChannelWatch[]> {
    const gathered = await this.#stores.each(named => this.read(named)).catch(() => undefined)
    return gathered?.found.flatMap(({ value }) => value) ?? []
  }

  /** The snapshots of one channel, oldest first. */
  async history(named: NamedStore, channel: string, after: number): Promise<readonly ChannelSnapshot[]> {
    const found = await this.#list(named, { channel, after, perChannel: MAX_PER_CHANNEL })
    return found.toReversed()
  }

  /** Drops the cache after new snapshots were taken. */
  clear(): void {
    this.#cache.clear()
  }

  async #readNow(named: NamedStore): Promise<readonly ChannelWatch[]> {
    const { trendOver, calmAfter, stableWithin } = this.policy
    const found = await this.#list(named, { perChannel: Math.max(trendOver, 2 * calmAfter) })
    const known = this.#alertStarts.get(named.name)
    const starts = new Map<string, AlertStart>()
    const watches: ChannelWatch[] = []
    for (const newestFirst of byChannel(found)) {
      const { channel } = newestFirst[0]
      const depths = newestFirst.slice(0, trendOver).map(({ depth }) => depth)
      watches.push({
        store: named.name,
        channel,
        newestFirst,
        trend: trendOf(depths.toReversed(), stableWithin),
        alerts: await this.#alerts(named, newestFirst, key => known?.get(key), starts),
      })
    }
    this.#alertStarts.set(named.name, starts)
    return watches
  }

  /** Adds to each alert the time when it began, which may be before the few snapshots that were read. */
  async #alerts(
    named: NamedStore,
    newestFirst: ChannelWatch['newestFirst'],
    known: (key: string) => AlertStart | undefined,
    starts: Map<string, AlertStart>,
  ): Promise<readonly Alert[]> {
    const [{ channel, at }] = newestFirst
    const alerts: Alert[] = []
    let history: readonly Alert[] | undefined
    for (const alert of alertsOf(newestFirst, this.policyOf(channel))) {
      const key = `${channel}\n${alertKey(alert)}`
      const before = known(key)
      let { since } = alert
      // An alert that was known within these snapshots has been firing since then.
      if (alert.isOlder && before !== undefined && before.seenAt >= newestFirst.at(-1)!.at) {
        since = before.since
      } else if (alert.isOlder) {
        history ??= await this.#lookBack(named, channel)
        since = history.find(each => alertKey(each) === alertKey(alert))?.since ?? since
      }
      starts.set(key, { since, seenAt: at })
      alerts.push({ ...alert, since })
    }
    return alerts
  }

  async #lookBack(named: NamedStore, channel: string): Promise<readonly Alert[]> {
    const found = await this.#list(named, { channel, perChannel: MAX_LOOK_BACK })
    return alertsOf(found, this.policyOf(channel))
  }

  /**
   * Ignores snapshots from the future: after a clock was set back they would stay the newest until it catches up. The clock
   * of another server may be slightly ahead.
   */
  async #list({ store }: NamedStore, query: SnapshotQuery): Promise<readonly ChannelSnapshot[]> {
    const before = this.#clock.now() + this.policy.everyMs
    const found = await store.snapshots.list(query)
    return found.some(({ at }) => at >= before) ? store.snapshots.list({ ...query, before }) : found
  }
}

/** The store returns snapshots by channel, newest first. */
function byChannel(snapshots: readonly ChannelSnapshot[]): readonly ChannelWatch['newestFirst'][] {
  const channels: [ChannelSnapshot, ...ChannelSnapshot[]][] = []
  for (const snapshot of snapshots) {
    const last = channels.at(-1)
    if (last?.[0].channel === snapshot.channel) last.push(snapshot)
    else channels.push([snapshot])
  }
  return channels
}
