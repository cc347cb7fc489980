import type { BreakerMode } from '../src/core/breaker/state.ts'
import type { DeadLetter } from '../src/core/dead-letter/letter.ts'
import type { LetterState } from '../src/core/dead-letter/state.ts'
import type { Settlement } from '../src/ports/broker.ts'
import type { UserFunction } from './extras.ts'
import type { FaultKind, Port } from './faults.ts'
import type { FleetFact } from './fleet-facts.ts'
import { nameOf } from './names.ts'

/**
 * The facts of a world, recorded by the simulated servers, processes, handlers and sinks, and never by the code under
 * test. The checkers read only this history, so a bug in Lazaret cannot hide its own traces.
 *
 * - `consumer` is one consumer of one incarnation of a process: `m1.2/orders`. `handler` names its queue.
 * - `delivery` numbers the deliveries, `run` the runs of handlers.
 * - The history records an effect of a server when it happens, also if the process never gets the answer.
 */
export type NewFact =
  /** `to`: the only handler that a replay is for. */
  | {
      readonly what: 'published'
      readonly event: string
      readonly channel: string
      readonly replay: number
      readonly replayId?: string
      readonly to?: string
      /** The event whose handler published it. */
      readonly follows?: string
      /** The forger published it, with headers that only a replay should set. */
      readonly isForged?: boolean
      /** The process that sent it for a replay of the fleet. */
      readonly by?: string
    }
  | (OfDelivery & {
      readonly what: 'delivered'
      readonly started: number
      readonly ended: number
      readonly replayId: string | undefined
    })
  /** `askedAt`: the time at which the consumer decided on the attempt. */
  | (OfDelivery & { readonly what: 'begun'; readonly askedAt: number })
  | (OfDelivery & { readonly what: 'settling'; readonly outcome: Settlement['outcome'] })
  | (OfDelivery & {
      readonly what: 'settled'
      readonly outcome: Settlement['outcome']
      readonly saved: boolean
    })
  | (OfRun & {
      readonly what: 'started'
      readonly attempt: number
      readonly replay: number
      readonly running: number
    })
  | (OfRun & { readonly what: 'effect'; readonly key: string })
  | (OfRun & { readonly what: 'returned' })
  | (OfRun & { readonly what: 'threw'; readonly kind: string })
  | (OfRun & { readonly what: 'aborted'; readonly why: string })
  /** The handler crashed its process. */
  | (OfRun & { readonly what: 'killed' })
  | (OfConsumer & {
      readonly what: 'claimed'
      readonly key: string
      readonly answer: 'claimed' | 'busy' | 'done'
    })
  | (OfConsumer & { readonly what: 'completed'; readonly key: string; readonly took: boolean })
  | (OfConsumer & { readonly what: 'released'; readonly key: string })
  | (OfConsumer & { readonly what: 'dropped'; readonly event: string; readonly by: 'filter' | 'retry-limit' })
  | (OfConsumer & { readonly what: 'admitted'; readonly before: BreakerMode; readonly isAllowed: boolean })
  | (OfConsumer & { readonly what: 'admissionEnded' })
  | (OfConsumer & { readonly what: 'unexpectedError'; readonly error: string })
  | (OfConsumer & { readonly what: 'connectionLost' })
  | { readonly what: 'tracked'; readonly event: string; readonly by: string }
  /** The outcome that `track` reported for a sink. */
  | {
      readonly what: 'reported'
      readonly event: string
      readonly by: string
      readonly sink: string
      readonly outcome: string
    }
  /** `by`: the process that sends it for a command or a replay of the fleet. `replayId`: that replay. */
  | {
      readonly what: 'resent'
      readonly event: string
      readonly sink: string
      readonly by?: string
      readonly replayId?: string | undefined
    }
  | (OfWrite & { readonly what: 'writing'; readonly inFlight: number; readonly buffered: number })
  | (OfWrite & { readonly what: 'written' })
  /** The receiver refused the whole write for good and named none of its events. */
  | (OfWrite & { readonly what: 'refusedAll' })
  /** The process got the answer that these events were written. */
  | (OfWrite & { readonly what: 'acknowledged' })
  | { readonly what: 'journaled' | 'unjournaled'; readonly event: string; readonly by: string }
  | {
      readonly what: 'droppedBySink'
      readonly event: string
      readonly by: string
      readonly sink: string
      readonly reason: string
    }
  | {
      readonly what: 'saved'
      readonly by: string
      readonly where: 'store' | 'spill'
      readonly letter: DeadLetter
      /** The change of state of the stored letter, if it changed. */
      readonly became?: StateChange
    }
  /** `replayId`: the replay id of the letter before the change. */
  | {
      readonly what: 'changed'
      readonly by: string
      readonly event: string
      readonly handler: string
      readonly from: LetterState
      readonly to: LetterState
      readonly replayId: string | undefined
    }
  /** The cleanup deleted a letter. */
  | {
      readonly what: 'deleted'
      readonly letter: string
      readonly event: string
      readonly handler: string
      readonly state: LetterState
    }
  | FleetFact
  /** A user function broke. */
  | (OfConsumer & { readonly what: 'broke'; readonly function: UserFunction })
  /** Unblocked by the operator for every handler, or by a consumer for its own. */
  | {
      readonly what: 'unblockKey'
      readonly event: string
      readonly channel: string
      readonly handler?: string | undefined
    }
  | { readonly what: 'machineStarted' | 'machineCrashed' | 'machineClosing'; readonly machine: string }
  | ({ readonly what: 'machineClosed'; readonly machine: string } & CloseReport)
  | {
      readonly what: 'fault'
      readonly where: string
      readonly port: Port
      readonly call: string
      readonly kind: FaultKind
    }
  | { readonly what: 'action'; readonly description: string }
  | { readonly what: 'jumped'; readonly ms: number }
  | { readonly what: 'faultsStopped' }

interface StateChange {
  /** Undefined: the store did not have the letter. */
  readonly from: LetterState | undefined
  readonly to: LetterState
  /** The replay id of the letter before the change. */
  readonly replayId: string | undefined
}

interface OfConsumer {
  readonly consumer: string
  readonly handler: string
}

interface OfDelivery extends OfConsumer {
  readonly event: string
  readonly delivery: number
  readonly replay: number
}

interface OfRun extends OfConsumer {
  readonly event: string
  readonly run: number
}

/** One write to a sink. `consumer` and `handler` name the sink, as if it were a consumer. */
interface OfWrite extends OfConsumer {
  readonly write: number
  readonly events: readonly string[]
}

/** The rest that a closed process left, and the duration of the close. */
export interface CloseReport {
  readonly tookMs: number
  readonly graceMs: number
  /** The limit for a close with faults. */
  readonly allowedMs: number
  readonly timers: number
  readonly active: number
  readonly waiting: number
}

export type Fact = NewFact & { readonly at: number }
export type FactOf<W extends NewFact['what']> = Of<NewFact, W> & { readonly at: number }
/** Also selects facts that share a shape and differ only in their name. */
type Of<N, W> = N extends { readonly what: infer X } ? (W & X extends never ? never : N) : never

export class History {
  readonly facts: Fact[] = []
  readonly #elapsed: () => number
  readonly #byName = new Map<string, Fact[]>()

  constructor(elapsed: () => number) {
    this.#elapsed = elapsed
  }

  record(note: NewFact): void {
    const fact: Fact = Object.assign(note, { at: this.#elapsed() })
    this.facts.push(fact)
    const alike = this.#byName.get(fact.what)
    if (alike === undefined) this.#byName.set(fact.what, [fact])
    else alike.push(fact)
  }

  /** All facts of these kinds, in their order. */
  of<W extends NewFact['what']>(...what: readonly W[]): readonly FactOf<W>[] {
    const names: readonly string[] = what
    const [only, ...others] = names
    if (only !== undefined && others.length === 0) return (this.#byName.get(only) ?? []) as FactOf<W>[]
    return this.facts.filter((fact): fact is FactOf<W> => names.includes(fact.what))
  }
}

/** Records a change of state of a letter, and who made it. */
export function recordStateChange(history: History, by: string, before: DeadLetter, after: DeadLetter): void {
  if (before.state === after.state) return
  const { event, handler, state: from, replayId } = before
  history.record({ what: 'changed', by, event: nameOf(event), handler, from, to: after.state, replayId })
}

/** The change of state that saving a letter caused, if any. */
export function stateChangeOf(
  before: DeadLetter | undefined,
  after: DeadLetter | undefined,
): { readonly became?: StateChange } {
  if (after === undefined || before?.state === after.state) return {}
  return { became: { from: before?.state, to: after.state, replayId: before?.replayId } }
}
