import type { Masks } from '../../core/dead-letter/masks.ts'
import type { Retention } from '../../core/dead-letter/retention.ts'
import { LazaretError } from '../../core/failure/errors.ts'
import { withoutCredentials } from '../../core/options/show.ts'
import type { WatchPolicy } from '../../core/watch/options.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Notifier } from '../../ports/notifier.ts'
import type { NamedStore } from '../stores/federation.ts'
import type { StatsCache } from '../stores/stats-cache.ts'
import type { LeaderTask } from '../work/leader-election.ts'
import { NoticeDeliveries } from './notice-deliveries.ts'
import { RoundLoop } from './round-loop.ts'
import {
  describeStoreAlert,
  type ExpiringLetters,
  NOTHING_EXPIRES,
  regressedGroups,
  type StoreAlert,
  scanExpiring,
  stillStands,
  stoppedReplays,
  storeAlertKey,
} from './store-alerts.ts'
import { ToldAlerts } from './told-alerts.ts'

/** A scan for letters that expire reads many letters, and they do not expire by the minute. */
const SCAN_EVERY_MS = 3_600_000

interface StoreAlertOptions {
  readonly named: NamedStore
  /** The name of the store if there are several, so that alerts can name it. */
  readonly store: string | undefined
  readonly statsCache: StatsCache
  readonly retention: Retention
  readonly policy: Pick<WatchPolicy, 'everyMs' | 'expiringWithinMs'>
  readonly notifier: Notifier
  readonly masks: Masks
  readonly clock: Clock
  readonly onError: (error: unknown) => void
}

/**
 * Notifies people of resolved groups that regress, of replays that halt or wait for approval, and of letters that are about
 * to expire: once when it begins, and once when it is over.
 */
export class StoreAlertWatcher implements LeaderTask {
  readonly name = 'store alerts'
  readonly #options: StoreAlertOptions
  readonly #rounds: RoundLoop
  readonly #deliveries: NoticeDeliveries
  #told: ToldAlerts | undefined
  #expiring: ExpiringLetters = NOTHING_EXPIRES
  #scannedAt = Number.NEGATIVE_INFINITY

  constructor(options: StoreAlertOptions) {
    const { notifier, clock, onError, policy, named } = options
    this.#options = options
    this.#deliveries = new NoticeDeliveries({ notifier, clock, onError, ledger: named.store.ledger })
    this.#rounds = new RoundLoop({
      everyMs: policy.everyMs,
      clock,
      run: signal => this.#runRound(signal),
      onError: error => onError(this.#describe(error)),
    })
  }

  start(): void {
    // Another server may have told of alerts since.
    this.#told = undefined
    this.#rounds.start()
  }

  async stop(): Promise<void> {
    await this.#rounds.stop()
    await this.#deliveries.flush()
  }

  async #runRound(signal: AbortSignal): Promise<undefined> {
    const { store } = this.#options.named
    this.#told ??= await ToldAlerts.read(store.audit)
    const told = this.#told
    const standing = await this.#standing(signal)
    const keys = new Set(standing.map(storeAlertKey))
    for (const alert of standing)
      if (!told.has(alert)) await this.#deliver(told, alert, { firing: true }, signal)
    for (const { alert, since, isFromEarlierServer } of told.open()) {
      if (keys.has(storeAlertKey(alert)) || (await this.#mayStand(alert))) continue
      const toldSince = isFromEarlierServer ? since : undefined
      await this.#deliver(told, alert, { firing: false, toldSince }, signal)
    }
  }

  async #standing(signal: AbortSignal): Promise<readonly StoreAlert[]> {
    const { named, statsCache } = this.#options
    const [groups, replays] = await Promise.all([
      statsCache.groups(named, { state: 'open' }),
      stoppedReplays(named.store),
      this.#scan(signal),
    ])
    const expiring = Array.from(this.#expiring.channels.keys(), id => {
      return { kind: 'letters_expiring', id, occurrence: 0 } as const
    })
    return [...regressedGroups(groups), ...replays, ...expiring]
  }

  /** Reads the letters that expire soon, now and then. The absolute difference also covers a clock that was set back. */
  async #scan(signal: AbortSignal): Promise<void> {
    const { named, retention, policy, clock } = this.#options
    const now = clock.now()
    if (policy.expiringWithinMs === 'off' || Math.abs(now - this.#scannedAt) < SCAN_EVERY_MS) return
    const until = now + policy.expiringWithinMs
    const found = await scanExpiring(named.store.deadLetters, retention, until, signal)
    if (signal.aborted) return
    this.#expiring = found
    this.#scannedAt = now
  }

  /** An alert that no list has may still stand: a list has a limit, and so has a scan. */
  async #mayStand(alert: StoreAlert): Promise<boolean> {
    if (alert.kind === 'letters_expiring') return this.#expiring.isCut
    return await stillStands(this.#options.named.store, alert)
  }

  async #deliver(
    told: ToldAlerts,
    alert: StoreAlert,
    { firing, toldSince }: { readonly firing: boolean; readonly toldSince?: number | undefined },
    signal: AbortSignal,
  ): Promise<void> {
    const { named, masks, clock, store } = this.#options
    const at = Math.floor(clock.now())
    const status = {
      at,
      firing,
      ...(store !== undefined && { store }),
      ...(toldSince !== undefined && { toldSince }),
    }
    const notice = await describeStoreAlert(named.store, alert, this.#expiring, masks, status)
    // A server that lost its lease, or a round that is too late, must not send.
    if (signal.aborted) return
    const key = storeAlertKey(alert)
    this.#deliveries.start({
      about: key,
      name: `${firing ? 'begin' : 'end'}\n${told.lastEndOf(alert)}\n${key}`,
      notice,
      done: () => (firing ? told.begin(alert, at) : told.end(alert, at)),
    })
  }

  #describe(error: unknown): LazaretError {
    const { name } = this.#options.named
    const problem = withoutCredentials(error instanceof Error ? error.message : String(error))
    return new LazaretError(
      `watch: the groups, replays and expiring letters of store ${name} cannot be read: ${problem}; the server retries in the next round`,
      { code: 'LAZARET_STORE_FAILED', retryable: true },
    )
  }
}
