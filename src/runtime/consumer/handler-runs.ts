import type { Broker } from '../../ports/broker.ts'
import type { Cancel, Clock } from '../../ports/clock.ts'
import { BriefMap } from './brief-map.ts'
import type { FailedAttempt, Work } from './work.ts'

/** The limit on remembered late successes, which wait for the retries of their events. The oldest are forgotten first. */
const MAX_REMEMBERED = 1_000

/**
 * A run of a handler that continues after its attempt has timed out, or that has succeeded after that. It may also continue
 * after its consumer has closed; then another consumer of the process waits for it.
 */
export class LateRun {
  readonly work: Work
  /** The failure of the attempt: a timeout, or the closing of the consumer. */
  readonly failed: FailedAttempt
  hasSucceeded = false
  /** Its success has settled a delivery of the event. It does not count for a copy that is published later. */
  hasSettled = false
  /** The number of retries that could not start because this run was in progress. */
  skippedAttempts = 0
  /** Resolves the letter that this or another consumer saved for the event during the run. */
  resolveLetter: (() => Promise<boolean>) | undefined = undefined
  /** The letter of the event was resolved, because the run succeeded. */
  isResolved = false
  /** The observer has received `lateRun` with the state `running`. */
  isObserved = false

  constructor(work: Work, failed: FailedAttempt) {
    this.work = work
    this.failed = failed
  }
}

/**
 * The runs of one handler of one channel in this process, by event id. An event has at most one run at a time: a second
 * delivery of the event waits until the first run has ended. A late run stays here until it ends, even if its consumer closes
 * before. A run that never ends stays as long as the broker object exists.
 */
export class HandlerRuns {
  readonly #runs = new BriefMap<Work | LateRun>()
  readonly #waiting = new Map<string, Set<() => void>>()
  readonly #succeeded = new Map<string, LateRun>()
  /** Late runs whose consumers have closed. */
  orphans = 0

  /** The run that the event has to wait for, or its late success. */
  get(id: string): Work | LateRun | undefined {
    return this.#runs.get(id) ?? (this.#succeeded.size === 0 ? undefined : this.#succeeded.get(id))
  }

  isUnderWay(id: string): boolean {
    return this.#runs.get(id) !== undefined
  }

  start(id: string, run: Work | LateRun): void {
    this.#runs.set(id, run)
  }

  end(id: string): void {
    this.#runs.delete(id)
    if (this.#waiting.size > 0) this.#wake(id)
  }

  /** Remembers a run that succeeded after its event was returned for a retry. The retry then needs no run. */
  remember(id: string, run: LateRun): void {
    this.#succeeded.set(id, run)
    const [oldest = ''] = this.#succeeded.keys()
    if (this.#succeeded.size > MAX_REMEMBERED) this.#succeeded.delete(oldest)
  }

  forget(id: string): void {
    this.#succeeded.delete(id)
  }

  *ofOwner(owner: object): Iterable<Work> {
    for (const run of this.#runs.values()) if ('delivery' in run && run.owner === owner) yield run
  }

  /** Calls back once: with true when the run of this event has ended, with false when the time limit is over. */
  whenOver(id: string, clock: Clock, waitLimitMs: number, wake: (isOver: boolean) => void): Cancel {
    const waiting = this.#waiting.get(id) ?? new Set()
    this.#waiting.set(id, waiting)
    const cancelTimer = clock.schedule(waitLimitMs, () => {
      leave()
      wake(false)
    })
    const onOver = () => {
      cancelTimer()
      wake(true)
    }
    const leave = () => {
      waiting.delete(onOver)
      if (waiting.size === 0) this.#waiting.delete(id)
    }
    waiting.add(onOver)
    return () => {
      cancelTimer()
      leave()
    }
  }

  #wake(id: string): void {
    const waiting = this.#waiting.get(id)
    this.#waiting.delete(id)
    for (const wake of waiting ?? []) wake()
  }
}

const ofBroker = new WeakMap<Broker, Map<string, HandlerRuns>>()

/** Consumers of one broker with the same channel and handler share their runs, because the broker delivers an event to any of them. */
export function handlerRunsOf(broker: Broker, channel: string, handler: string): HandlerRuns {
  const all = ofBroker.get(broker) ?? new Map<string, HandlerRuns>()
  ofBroker.set(broker, all)
  const name = JSON.stringify([channel, handler])
  const runs = all.get(name) ?? new HandlerRuns()
  all.set(name, runs)
  return runs
}
