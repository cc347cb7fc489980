import { randomUUID } from 'node:crypto'
import type { DeadLetter } from '../../../src/core/dead-letter/letter.ts'
import { discardLetter } from '../../../src/operations/decide.ts'
import { applyRetention } from '../../../src/operations/retention.ts'
import { systemClock } from '../../../src/ports/clock.ts'
import type { LetterFilter } from '../../../src/ports/dead-letters.ts'
import { startReplay } from '../../../src/replay/control.ts'
import { EmptyPlanError } from '../../../src/replay/empty-plan.ts'
import { planReplay } from '../../../src/replay/plan.ts'
import { runReplay } from '../../../src/replay/runner.ts'
import { sinkReplays } from '../../../src/replay/sink-replays.ts'
import type { ReplayTarget } from '../../../src/replay/target.ts'
import type { Dispatcher } from '../../../src/runtime/dispatcher/dispatcher.ts'
import { pause } from '../campaign/wait.ts'
import { CONSUMED, TRACKED } from './plan.ts'
import type { StoreUnderSoak } from './stores.ts'
import type { Tally } from './tally.ts'

const BY = 'operator'
const ENVIRONMENT = { clock: systemClock, newId: () => randomUUID() }
const LOOK_MS = 200
/** A replay that waits for a lost outcome is left to the next round. */
const LONGEST_REPLAY_MS = 60_000
const PAGE = 100

interface OperatorTimes {
  readonly everyMs: number
  readonly retentionMs: number
}

/** A person who now and then replays dead letters, discards quarantined ones, and has decided ones deleted. */
export class Operator {
  readonly #under: StoreUnderSoak
  readonly #targets: readonly { readonly channel: string; readonly target: ReplayTarget }[]
  readonly #tally: Tally
  readonly #times: OperatorTimes
  readonly #stopping = new AbortController()
  #working: Promise<unknown> | undefined

  constructor(under: StoreUnderSoak, dispatcher: Dispatcher, tally: Tally, times: OperatorTimes) {
    this.#under = under
    this.#tally = tally
    this.#times = times
    const { broker, store } = under
    this.#targets = [
      { channel: CONSUMED, target: { send: events => broker.publish(events) } },
      { channel: TRACKED, target: sinkReplays(dispatcher, store.deadLetters) },
    ]
  }

  start(): void {
    this.#working = Promise.all([
      this.#everyRound(() => this.#decide()),
      ...this.#targets.map(({ channel, target }) =>
        this.#everyRound(() => this.#attempt(() => this.#replay(target, channel))),
      ),
    ])
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#working
  }

  /** A replay can wait long for its outcomes, and nothing else waits for it. */
  async #everyRound(work: () => Promise<void>): Promise<void> {
    const { everyMs } = this.#times
    for (let nextAt = systemClock.now() + everyMs; !this.#isStopped; await pause(LOOK_MS)) {
      if (systemClock.now() < nextAt) continue
      await work()
      nextAt = systemClock.now() + everyMs
    }
  }

  get #isStopped(): boolean {
    return this.#stopping.signal.aborted
  }

  /** Each step by itself: while a fault lasts, the next round does what this one could not. */
  async #decide(): Promise<void> {
    const { store } = this.#under
    await this.#attempt(() => this.#discard({ channel: CONSUMED, state: 'quarantined' }))
    await this.#attempt(() => this.#discard({ state: 'parked' }))
    await this.#attempt(async () => {
      const { retentionMs } = this.#times
      const retention = { retentionMs, expireUndecidedAfterMs: 'never' } as const
      const deleted = await applyRetention(store, retention, systemClock.now())
      for (const count of Object.values(deleted)) this.#tally.add('expired', count)
    })
  }

  async #attempt(step: () => Promise<void>): Promise<void> {
    if (this.#isStopped) return
    await step().catch(error => {
      if (!(error instanceof EmptyPlanError)) this.#tally.add('troubled')
    })
  }

  async #discard(filter: LetterFilter): Promise<void> {
    const { letters } = await this.#under.store.deadLetters.list({ ...filter, limit: PAGE })
    for (const letter of letters) await this.#discardOne(letter)
  }

  async #discardOne({ id, event }: DeadLetter): Promise<void> {
    const discarded = await discardLetter(this.#under.store, id, { by: BY, at: systemClock.now() })
    if (discarded !== undefined) this.#tally.discarded(event.id)
  }

  /** First the replay that a fault or a slow consumer has interrupted. Without one, all dead letters of the channel. */
  async #replay(target: ReplayTarget, channel: string): Promise<void> {
    const { store } = this.#under
    const running = await store.replays.list({ state: 'running' })
    const interrupted = running.find(({ selectedBy }) => selectedBy.filter?.channel === channel)
    if (interrupted !== undefined) return await this.#run(interrupted.id, target)
    const request = {
      filter: { channel, state: 'dead' },
      reason: 'the cause is fixed',
      by: BY,
      perSecond: 200,
      haltOnSameFingerprint: false,
      haltRefailRatio: 1,
    } as const
    const { id } = await planReplay(store, request, ENVIRONMENT)
    await startReplay(store, id, { by: BY, clock: systemClock })
    await this.#run(id, target)
  }

  async #run(id: string, target: ReplayTarget): Promise<void> {
    const signal = AbortSignal.any([AbortSignal.timeout(LONGEST_REPLAY_MS), this.#stopping.signal])
    const observer = { replaySent: () => this.#tally.add('replayed') }
    await runReplay(this.#under.store, id, { target, environment: ENVIRONMENT, owner: BY, signal, observer })
  }
}
