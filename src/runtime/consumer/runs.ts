import type { Broker } from '../../ports/broker.ts'
import type { Cancel, Clock } from '../../ports/clock.ts'
import type { FailedAttempt, Work } from './work.ts'

/** Late successes that are remembered for the retry that is on its way; the oldest are forgotten first. */
const MAX_REMEMBERED = 1_000

/**
 * A run of a handler that has outlived its attempt and has not ended yet, or has ended well after all. It may outlive its
 * consumer too: then another one of the process waits for it.
 */
export class LateRun {
  readonly work: Work
  /** Why the attempt ended without it: its time was over, or its consumer closed. */
  readonly failed: FailedAttempt
  hasSucceeded = false
  /** Its success has settled a delivery of the event: it counts for that one, and for no copy that is published later. */
  hasSettled = false
  /** How often the event came back and could not be attempted because of this run. */
  turnsLost = 0
  /** Resolves the letter that was saved for the event meanwhile, perhaps by another consumer than the run's. */
  resolveLetter: (() => Promise<boolean>) | undefined = undefined
  /** That letter was resolved, because the run succeeded. */
  isResolved = false
  /** The observer has received `lateRun` with the state `running`. */
  isTold = false

  constructor(work: Work, failed: FailedAttempt) {
    this.work = work
    this.failed = failed
  }
}

/**
 * The events that one handler of one channel runs for in this process, by event id. At most one run of an event is under
 * way at a time: a second delivery of it waits for the end of the first. A run that outlived its attempt stays here until
 * it really ends, also when its consumer is closed meanwhile. One that never ends keeps its entry as long as the broker object lives.
 */
export class Runs {
  readonly #runs = new Map<string, Work | LateRun>()
  readonly #waiting = new Map<string, Set<() => void>>()
  readonly #succeeded = new Map<string, LateRun>()
  /** Late runs whose consumers have closed. */
  orphans = 0

  /** The run that the event has to wait for, or its late success. */
  get(id: string): Work | LateRun | undefined {
    return this.#runs.get(id) ?? (this.#succeeded.size === 0 ? undefined : this.#succeeded.get(id))
  }

  isUnderWay(id: string): boolean {
    return this.#runs.has(id)
  }

  start(id: string, run: Work | LateRun): void {
    this.#runs.set(id, run)
  }

  end(id: string): void {
    this.#runs.delete(id)
    if (this.#waiting.size > 0) this.#wake(id)
  }

  /** A run succeeded late, after its event was put back to be retried: the retry has nothing left to do. */
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
  whenOver(id: string, clock: Clock, patienceMs: number, wake: (isOver: boolean) => void): Cancel {
    const waiting = this.#waiting.get(id) ?? new Set()
    this.#waiting.set(id, waiting)
    const cancelTimer = clock.schedule(patienceMs, () => {
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

const ofBroker = new WeakMap<Broker, Map<string, Runs>>()

/** Consumers of one broker with the same channel and handler share their runs: an event is delivered to any of them. */
export function runsOf(broker: Broker, channel: string, handler: string): Runs {
  const all = ofBroker.get(broker) ?? new Map<string, Runs>()
  ofBroker.set(broker, all)
  const name = JSON.stringify([channel, handler])
  const runs = all.get(name) ?? new Runs()
  all.set(name, runs)
  return runs
}
