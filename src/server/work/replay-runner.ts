import type { Masks } from '../../core/dead-letter/masks.ts'
import { addToWindow, emptyWindow, followClock, type Window, windowTotal } from '../../core/limit/window.ts'
import { RENEW_MS } from '../../operations/held-lease.ts'
import type { Cancel } from '../../ports/clock.ts'
import type { Observer } from '../../ports/observer.ts'
import type { Replay, ReplayCounts, Replays } from '../../ports/replays.ts'
import type { Tracing } from '../../ports/tracing.ts'
import { ReplayRefusedError } from '../../replay/errors.ts'
import { recordLateOutcomes } from '../../replay/outcomes.ts'
import { runReplay } from '../../replay/runner.ts'
import type { ReplayEnvironment, ReplayTarget } from '../../replay/target.ts'
import type { Federation, NamedStore } from '../stores/federation.ts'
import type { ServerLog } from './log.ts'

/** How often the runner searches for outcomes that arrived after a replay stopped. */
const GATHER_EVERY_MS = 15_000
const RATE_WINDOW_MS = 60_000
/** Only the latest replays are checked for such outcomes. */
const MAX_STOPPED_REPLAYS = 20
/**
 * A cancelled replay can have letters that a process of the fleet still sends, and nobody else returns them. So more of them are
 * checked, for a time that is long beside any send and any difference between clocks.
 */
const MAX_CANCELLED_REPLAYS = 200
const CANCELLED_FOR_MS = 3_600_000

export interface RunnerOptions {
  readonly stores: Federation
  readonly environment: ReplayEnvironment
  readonly owner: string
  readonly targetOf: (named: NamedStore) => ReplayTarget | undefined
  readonly observer: Observer
  readonly tracing: Tracing | undefined
  readonly masks: Masks
  readonly log: ServerLog
  readonly onChange: () => void
  readonly onError: (error: unknown) => void
}

interface Run {
  readonly ended: Promise<void>
  sent: Window
  sentSoFar: number | undefined
}

/** Runs started replays, and continues those that another runner left. A lease gives each replay one runner at a time. */
export class ReplayRunner {
  readonly #options: RunnerOptions
  readonly #stop = new AbortController()
  readonly #runs = new Map<string, Run>()
  readonly #gatherings = new Map<string, Promise<void>>()
  #isStarted = false
  #gatheredAt = Number.NEGATIVE_INFINITY
  #cancelPoll: Cancel | undefined

  constructor(options: RunnerOptions) {
    this.#options = options
  }

  /** Begins to search for replays without a runner. Further calls do nothing. */
  start(): void {
    if (this.#isStarted || this.#stop.signal.aborted) return
    this.#isStarted = true
    this.#poll()
  }

  run(named: NamedStore, id: string): void {
    if (this.#runs.has(id) || this.#stop.signal.aborted) return
    const target = this.#options.targetOf(named)
    if (target === undefined) return
    const run: Run = {
      ended: this.#run(named, id, target),
      sent: emptyWindow(RATE_WINDOW_MS),
      sentSoFar: undefined,
    }
    this.#runs.set(id, run)
  }

  /** Letters per second over the last minute; undefined when this server does not run the replay. */
  rateOf(id: string): number | undefined {
    const run = this.#runs.get(id)
    if (run === undefined) return undefined
    const now = this.#options.environment.clock.now()
    run.sent = followClock(run.sent, now)
    return windowTotal(run.sent, now) / (RATE_WINDOW_MS / 1_000)
  }

  /** Records outcomes that arrived after a replay stopped. Concurrent calls share one run, so that each outcome counts once. */
  gatherLate({ store }: NamedStore, replay: Replay): Promise<void> {
    const { environment, observer } = this.#options
    const { id } = replay
    if (this.#runs.has(id)) return Promise.resolve()
    const gathering =
      this.#gatherings.get(id) ??
      recordLateOutcomes(store, replay, environment.clock, observer).finally(() =>
        this.#gatherings.delete(id),
      )
    this.#gatherings.set(id, gathering)
    return gathering
  }

  /** Stops all replays at their next safe point. Another runner can continue them. */
  async close(): Promise<void> {
    this.#stop.abort()
    this.#cancelPoll?.()
    await Promise.all([...this.#runs.values()].map(({ ended }) => ended))
  }

  async #run(named: NamedStore, id: string, target: ReplayTarget): Promise<void> {
    const { environment, owner, observer, tracing, masks, log, onChange, onError } = this.#options
    let isOurs = true
    try {
      const replay = await runReplay(named.store, id, {
        target,
        environment,
        owner,
        observer,
        tracing,
        masks,
        signal: this.#stop.signal,
        onProgress: (replay, counts) => this.#progress(named, replay, counts),
      })
      log.replayEnded(replay, named.name)
    } catch (error) {
      // Another process runs the replay, which is not an error.
      isOurs = !(error instanceof ReplayRefusedError)
      if (isOurs) onError(error)
    } finally {
      this.#runs.delete(id)
      if (isOurs) onChange()
    }
  }

  #progress(named: NamedStore, { id, count }: Replay, { waiting, skipped, lost }: ReplayCounts): void {
    const run = this.#runs.get(id)
    if (run === undefined) return
    // The first progress proves that this process has the lease.
    if (run.sentSoFar === undefined) this.#options.log.replayRunning(id, named.name)
    const sent = count - waiting - skipped - lost
    const news = sent - (run.sentSoFar ?? sent)
    run.sentSoFar = sent
    if (news <= 0) return
    run.sent = addToWindow(run.sent, this.#options.environment.clock.now(), news)
    this.#options.onChange()
  }

  /** Searches for replays that lost their runner, here or in another process. */
  #poll(): void {
    const { stores, environment } = this.#options
    const { clock } = environment
    // The absolute difference also covers a clock that was set back.
    const isGathering = Math.abs(clock.now() - this.#gatheredAt) >= GATHER_EVERY_MS
    if (isGathering) this.#gatheredAt = clock.now()
    void stores
      .each(async named => {
        const { replays } = named.store
        for (const { id } of await replays.list({ state: 'running', limit: 100 })) this.run(named, id)
        if (!isGathering) return
        for (const replay of await this.#stoppedReplays(replays)) await this.gatherLate(named, replay)
      })
      // Requests report stores that do not answer. The next poll may succeed.
      .catch(() => {})
    this.#cancelPoll = clock.schedule(RENEW_MS, () => this.#poll())
  }

  async #stoppedReplays(replays: Replays): Promise<readonly Replay[]> {
    const now = this.#options.environment.clock.now()
    const latest = await replays.list({ limit: MAX_STOPPED_REPLAYS })
    const cancelled = await replays.list({ state: 'cancelled', limit: MAX_CANCELLED_REPLAYS })
    // The absolute difference also covers a clock that was set back.
    const recent = cancelled.filter(({ endedAt = 0 }) => Math.abs(now - endedAt) < CANCELLED_FOR_MS)
    return [...new Map([...latest, ...recent].map(replay => [replay.id, replay])).values()]
  }
}
