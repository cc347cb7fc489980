import type { Masks } from '../../core/dead-letter/masks.ts'
import { LazaretError } from '../../core/failure/errors.ts'
import { withoutCredentials } from '../../core/options/show.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Notifier } from '../../ports/notifier.ts'
import type { NamedStore } from '../stores/federation.ts'
import type { LeaderTask } from '../work/leader-election.ts'
import { AlertSender } from './alert-sender.ts'
import { RoundLoop } from './round-loop.ts'
import type { ChannelWatch, SnapshotReader } from './snapshot-reader.ts'
import { SnapshotTaker } from './snapshot-taker.ts'

const PURGE_EVERY_MS = 3_600_000
/** An alert that has fired for so many snapshots was reported long ago, and its record in the ledger may be gone. */
const REPORTED_AFTER_SNAPSHOTS = 100

interface WatcherOptions {
  readonly named: NamedStore
  /** The name of the store if there are several, so that alerts can name it. */
  readonly store: string | undefined
  readonly snapshotReader: SnapshotReader
  /** Messages in dead-letter queues that belong to this store, by channel. */
  readonly queues: () => Promise<ReadonlyMap<string, number>>
  readonly notifier: Notifier | undefined
  readonly masks: Masks
  readonly clock: Clock
  /** Called after new snapshots were saved. */
  readonly onSnapshots: () => void
  readonly onError: (error: unknown) => void
}

/** Takes snapshots of the channels of a store at every interval, saves them, and sends alerts. */
export class ChannelWatcher implements LeaderTask {
  readonly name = 'watch'
  readonly #options: WatcherOptions
  readonly #taker: SnapshotTaker
  readonly #rounds: RoundLoop
  #sender: AlertSender | undefined
  #purgedAt = Number.NEGATIVE_INFINITY

  constructor(options: WatcherOptions) {
    this.#options = options
    this.#taker = new SnapshotTaker(options.masks)
    this.#rounds = new RoundLoop({
      everyMs: this.#everyMs,
      clock: options.clock,
      run: signal => this.#runRound(signal),
      onError: error => options.onError(this.#describe(error)),
    })
  }

  start(): void {
    this.#sender = undefined
    this.#rounds.start()
  }

  async stop(): Promise<void> {
    await this.#rounds.stop()
    await this.#sender?.flush()
  }

  /** Returns the wait before the next round. The first round waits until the next snapshot is due, also after another server's. */
  async #runRound(signal: AbortSignal): Promise<number> {
    const { named, snapshotReader, clock } = this.#options
    snapshotReader.clear()
    const before = await snapshotReader.read(named)
    if (this.#sender === undefined) {
      const sender = this.#createSender()
      await sender.restore(before)
      this.#sender = sender
      const dueInMs = newestSnapshotAt(before) + this.#everyMs - clock.now()
      if (dueInMs > 0 && dueInMs <= this.#everyMs) return dueInMs
    }
    if (!signal.aborted) await this.#take(before, signal)
    return this.#everyMs
  }

  async #take(before: readonly ChannelWatch[], signal: AbortSignal): Promise<void> {
    const { named, snapshotReader, clock, queues, onSnapshots } = this.#options
    const at = Math.floor(clock.now())
    const snapshots = await this.#taker.take({
      letters: named.store.deadLetters,
      queues: await queues(),
      required: before.filter(needsSnapshot).map(({ channel }) => channel),
      limitsOf: channel => snapshotReader.policyOf(channel),
      at,
      signal,
    })
    // A server that lost its lease, or a round that is too late, must not write.
    if (signal.aborted) return
    const kept = named.store.snapshots
    if (snapshots.length > 0) {
      await kept.append(snapshots)
      snapshotReader.clear()
      this.#sender?.report(await snapshotReader.read(named), at)
      onSnapshots()
    }
    // The absolute difference also covers a clock that was set back.
    if (Math.abs(at - this.#purgedAt) < PURGE_EVERY_MS) return
    await kept.purge(Math.max(0, Math.floor(at - snapshotReader.policy.keepMs)))
    this.#purgedAt = at
  }

  #createSender(): AlertSender {
    const { named, snapshotReader, store, notifier, masks, clock, onError } = this.#options
    const { ledger } = named.store
    // Half of the time that snapshots are kept: the beginning of an older alert may be deleted.
    const reportedAfterMs = Math.min(
      REPORTED_AFTER_SNAPSHOTS * this.#everyMs,
      snapshotReader.policy.keepMs / 2,
    )
    return new AlertSender({ store, notifier, masks, clock, onError, ledger, reportedAfterMs })
  }

  get #everyMs(): number {
    return this.#options.snapshotReader.policy.everyMs
  }

  #describe(error: unknown): LazaretError {
    const { name } = this.#options.named
    const problem = withoutCredentials(error instanceof Error ? error.message : String(error))
    return new LazaretError(
      `watch: no snapshot of the channels in store ${name}: ${problem}; the server retries when the next one is due`,
      { code: 'LAZARET_STORE_FAILED', retryable: true },
    )
  }
}

function newestSnapshotAt(watches: readonly ChannelWatch[]): number {
  return Math.max(Number.NEGATIVE_INFINITY, ...watches.map(({ newestFirst }) => newestFirst[0].at))
}

function needsSnapshot({ newestFirst, alerts }: ChannelWatch): boolean {
  return newestFirst[0].depth > 0 || alerts.length > 0
}
