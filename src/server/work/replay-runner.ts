import { addToWindow, emptyWindow, type Window, windowTotal } from '../../core/limit/window.ts'
import type { Cancel } from '../../ports/clock.ts'
import type { Observer } from '../../ports/observer.ts'
import type { Replay, ReplayCounts } from '../../ports/replays.ts'
import type { Tracing } from '../../ports/tracing.ts'
import { ReplayRefusedError } from '../../replay/errors.ts'
import { gatherLateOutcomes } from '../../replay/outcomes.ts'
import { runReplay } from '../../replay/runner.ts'
import type { ReplayEnvironment, ReplayTarget } from '../../replay/target.ts'
import type { Federation, NamedStore } from '../stores/federation.ts'
import type { ServerLog } from './log.ts'

/** Replays that lost their runner, here or elsewhere, are looked for so often. */
const POLL_EVERY_MS = 15_000
const RATE_WINDOW_MS = 60_000
/** Of the latest replays, those that were stopped: what they had sent may have come to its end since. */
const MAX_STOPPED_REPLAYS = 20

export interface RunnerOptions {
  readonly stores: Federation
  readonly environment: ReplayEnvironment
  readonly owner: string
  readonly targetOf: (named: NamedStore) => ReplayTarget | undefined
  readonly observer: Observer
  readonly tracing: Tracing | undefined
  readonly log: ServerLog
  readonly onChange: () => void
  readonly onError: (error: unknown) => void
}

interface Run {
  readonly ended: Promise<void>
  sent: Window
  sentSoFar: number | undefined
}

/** Runs what was started, and takes up what another runner left. A replay has one runner at a time, wherever. */
export class ReplayRunner {
  readonly #options: RunnerOptions
  readonly #stop = new AbortController()
  readonly #runs = new Map<string, Run>()
  readonly #gatherings = new Map<string, Promise<void>>()
  #isStarted = false
  #cancelPoll: Cancel | undefined

  constructor(options: RunnerOptions) {
    this.#options = options
  }

  /** From the first call on it looks for replays without a runner. */
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

  /** Letters a second, of the last minute; undefined when it is not run here. */
  rateOf(id: string): number | undefined {
    const run = this.#runs.get(id)
    return run && windowTotal(run.sent, this.#options.environment.clock.now()) / (RATE_WINDOW_MS / 1_000)
  }

  /** What has become since of what a stopped replay had sent. Several who ask at once are one, so that it is told once. */
  gatherLate({ store }: NamedStore, replay: Replay): Promise<void> {
    const { environment, observer } = this.#options
    const { id } = replay
    if (this.#runs.has(id)) return Promise.resolve()
    const gathering =
      this.#gatherings.get(id) ??
      gatherLateOutcomes(store, replay, environment.clock, observer).finally(() =>
        this.#gatherings.delete(id),
      )
    this.#gatherings.set(id, gathering)
    return gathering
  }

  /** What runs comes to its next safe point and stays as it is, for the next runner. */
  async close(): Promise<void> {
    this.#stop.abort()
    this.#cancelPoll?.()
    await Promise.all([...this.#runs.values()].map(({ ended }) => ended))
  }

  async #run(named: NamedStore, id: string, target: ReplayTarget): Promise<void> {
    const { environment, owner, observer, tracing, log, onChange, onError } = this.#options
    try {
      const replay = await runReplay(named.store, id, {
        target,
        environment,
        owner,
        observer,
        tracing,
        signal: this.#stop.signal,
        onProgress: (replay, counts) => this.#progress(named, replay, counts),
      })
      log.replayEnded(replay, named.name)
    } catch (error) {
      // Someone else runs it, and that is well.
      if (!(error instanceof ReplayRefusedError)) onError(error)
    } finally {
      this.#runs.delete(id)
      onChange()
    }
  }

  #progress(named: NamedStore, { id, count }: Replay, { waiting, skipped, lost }: ReplayCounts): void {
    const run = this.#runs.get(id)
    if (run === undefined) return
    // Only now it is known that nobody else has it.
    if (run.sentSoFar === undefined) this.#options.log.replayRunning(id, named.name)
    const sent = count - waiting - skipped - lost
    const news = sent - (run.sentSoFar ?? sent)
    run.sentSoFar = sent
    if (news <= 0) return
    run.sent = addToWindow(run.sent, this.#options.environment.clock.now(), news)
    this.#options.onChange()
  }

  #poll(): void {
    const { stores, environment } = this.#options
    void stores
      .each(async named => {
        const { replays } = named.store
        for (const { id } of await replays.list({ state: 'running', limit: 100 })) this.run(named, id)
        for (const replay of await replays.list({ limit: MAX_STOPPED_REPLAYS }))
          await this.gatherLate(named, replay)
      })
      // Requests to stores that do not answer report it; the next look may find them up again.
      .catch(() => {})
    this.#cancelPoll = environment.clock.schedule(POLL_EVERY_MS, () => this.#poll())
  }
}
