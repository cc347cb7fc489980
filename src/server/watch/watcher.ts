import type { Masks } from '../../core/dead-letter/masks.ts'
import { LazaretError } from '../../core/failure/errors.ts'
import { withoutCredentials } from '../../core/options/show.ts'
import { type Cancel, type Clock, within } from '../../ports/clock.ts'
import type { Notifier } from '../../ports/notifier.ts'
import type { NamedStore } from '../stores/federation.ts'
import type { Duty } from '../work/standby.ts'
import { AlertSender, FirstFailure } from './alert-sender.ts'
import type { ChannelWatch, SnapshotReader } from './snapshot-reader.ts'
import { SnapshotTaker } from './snapshot-taker.ts'

/** A store that takes longer for one round is left alone until the next. */
const PATIENCE_MS = 60_000
/** One snapshot that is missing is nobody's trouble. */
const TOLERATED = 1
const PURGE_EVERY_MS = 3_600_000

interface WatcherOptions {
  readonly named: NamedStore
  /** The name of the store, where there are others: whoever is told has to tell them apart. */
  readonly store: string | undefined
  readonly watched: SnapshotReader
  /** Messages in dead-letter queues that belong to this store, by channel. */
  readonly queues: () => Promise<ReadonlyMap<string, number>>
  readonly notifier: Notifier | undefined
  readonly masks: Masks
  readonly clock: Clock
  /** There are new snapshots. */
  readonly onSnapshots: () => void
  readonly onError: (error: unknown) => void
}

/** Goes its round through a store's channels at every interval, writes down what it saw, and tells what is amiss. */
export class ChannelWatcher implements Duty {
  readonly name = 'watch'
  readonly #options: WatcherOptions
  readonly #surveyor = new SnapshotTaker()
  readonly #failures: FirstFailure
  #stop: AbortController | undefined
  #round: Promise<unknown> = Promise.resolve()
  #cancel: Cancel | undefined
  #teller: AlertSender | undefined
  #purgedAt = Number.NEGATIVE_INFINITY

  constructor(options: WatcherOptions) {
    this.#options = options
    this.#failures = new FirstFailure(error => options.onError(this.#describe(error)), TOLERATED)
  }

  start(): void {
    const stop = new AbortController()
    this.#stop = stop
    this.#teller = undefined
    this.#go(stop.signal)
  }

  async stop(): Promise<void> {
    this.#stop?.abort()
    this.#cancel?.()
    await this.#round
    await this.#teller?.end()
  }

  #go(signal: AbortSignal): void {
    const { clock } = this.#options
    const startedAt = clock.now()
    let waitMs = this.#everyMs
    const late = new AbortController()
    const round = this.#failures.of(async () => {
      const turn = this.#turn(AbortSignal.any([signal, late.signal]))
      if (!(await within(clock, PATIENCE_MS, turn))) {
        late.abort()
        throw new Error(`no answer for ${PATIENCE_MS / 1_000} s`)
      }
      waitMs = await turn
    })
    this.#round = round.then(() => {
      if (signal.aborted) return
      const tookMs = Math.max(0, clock.now() - startedAt)
      // However slow a store is, half of the time nobody asks it for this.
      this.#cancel = clock.schedule(Math.max(waitMs - tookMs, tookMs), () => this.#go(signal))
    })
  }

  /** How long to wait for the next one. The first is taken when it is due, whoever took the one before. */
  async #turn(signal: AbortSignal): Promise<number> {
    const { named, watched, clock } = this.#options
    watched.forget()
    const before = await watched.look(named)
    if (this.#teller === undefined) {
      this.#teller = new AlertSender(this.#options)
      this.#teller.begin(before)
      const dueInMs = lastOf(before) + this.#everyMs - clock.now()
      if (dueInMs > 0 && dueInMs <= this.#everyMs) return dueInMs
    }
    if (!signal.aborted) await this.#take(before, signal)
    return this.#everyMs
  }

  async #take(before: readonly ChannelWatch[], signal: AbortSignal): Promise<void> {
    const { named, watched, clock, queues, onSnapshots } = this.#options
    const at = Math.floor(clock.now())
    const snapshots = await this.#surveyor.survey({
      letters: named.store.deadLetters,
      queues: await queues(),
      unfinished: before.filter(isUnfinished).map(({ channel }) => channel),
      ageMs: watched.policy.ageMs,
      at,
      signal,
    })
    // Who is not on duty any more, or too late, leaves writing to the next one.
    if (signal.aborted) return
    const kept = named.store.snapshots
    if (snapshots.length > 0) {
      await kept.append(snapshots)
      watched.forget()
      this.#teller?.tell(await watched.look(named), at)
      onSnapshots()
    }
    // Also when the clock was set back since.
    if (Math.abs(at - this.#purgedAt) < PURGE_EVERY_MS) return
    await kept.purge(Math.max(0, Math.floor(at - watched.policy.keepMs)))
    this.#purgedAt = at
  }

  get #everyMs(): number {
    return this.#options.watched.policy.everyMs
  }

  #describe(error: unknown): LazaretError {
    const { name } = this.#options.named
    const problem = withoutCredentials(error instanceof Error ? error.message : String(error))
    return new LazaretError(
      `watch: no snapshot of the channels in store ${name}: ${problem}; it is tried again each time one is due`,
      { code: 'LAZARET_STORE_FAILED', retryable: true },
    )
  }
}

function lastOf(watches: readonly ChannelWatch[]): number {
  return Math.max(Number.NEGATIVE_INFINITY, ...watches.map(({ newestFirst }) => newestFirst[0].at))
}

function isUnfinished({ newestFirst, alerts }: ChannelWatch): boolean {
  return newestFirst[0].depth > 0 || alerts.length > 0
}
