import type { DeadLetter, Origin } from '../core/dead-letter/letter.ts'
import type { LazaretEvent } from '../core/event/event.ts'
import type { Clock } from '../ports/clock.ts'
import type { ReplayRoute } from '../ports/collector.ts'
import type { GateAnswer, Replay, ReplayItem } from '../ports/replays.ts'
import type { StandardSchema } from '../ports/schema.ts'
import type { LetterHold } from '../runtime/dispatcher/letter-hold.ts'
import type { Delivered } from '../runtime/fleet/deliver.ts'

/**
 * The receiver of replayed events.
 *
 * - `send` resolves when the receiver has durably accepted the events. All of them belong to letters of this origin. Sending
 *   an event that is still in flight must change nothing, because a runner sends again after a crash.
 * - `hold` is given for letters with the route `in-process`. The receiver reads `hold.isSure` before each write, and asks
 *   `hold.confirm()` if that is false: another runner may have the letter by then.
 * - `routeOf` (optional) returns the route of a letter, to the channel `to` if it is given, without sending anything. A
 *   target without it has a durable route for every letter. Letters with the route `fleet` go to `fleet`, not to `send`.
 */
export interface ReplayTarget {
  send(events: readonly LazaretEvent[], origin: Origin, hold?: LetterHold): Promise<void>
  routeOf?(
    letter: Pick<DeadLetter, 'channel' | 'handler' | 'origin'>,
    to: string | undefined,
  ): ReplayRoute | Promise<ReplayRoute>
  /** Has the items of letters with the route `fleet` sent by other processes [none]. */
  readonly fleet?: FleetDeliveries | undefined
}

/** What processes said of the items that they were to send. */
export interface DeliveryAnswer {
  /** Items that their receiver refused for good. */
  readonly refused: Delivered['refused']
  /** Why a process did not send its items, for people. */
  readonly problem?: string | undefined
}

/** Hands items of a replay to living processes of the fleet, which send them. */
export interface FleetDeliveries {
  /**
   * Has the items sent, and resolves when no process sends them any more. The stored items say which of them were handed on.
   * `keepLease` is called often; false ends the wait.
   */
  deliver(
    replay: Replay,
    items: readonly { readonly item: ReplayItem; readonly letter: DeadLetter }[],
    by: string,
    keepLease: () => Promise<boolean>,
  ): Promise<DeliveryAnswer>
  /** Resolves when no process sends items of the delivery any more. `keepLease` is called often; false ends the wait. */
  ended(delivery: string, keepLease: () => Promise<boolean>): Promise<unknown>
  /** Whether the process that holds an event is alive, or was so a moment ago. */
  isAlive(instance: string): Promise<boolean>
}

/** What is known of the consumers of a channel, or of a sink, and whose word that is. */
export interface DownstreamAnswer {
  /** Why they cannot take events now; undefined if they can, or if nobody knows. */
  readonly fault?: string | undefined
  readonly answer: GateAnswer
}

/** The clock, the ids and the optional checks of replays. A check that is not given is skipped. */
export interface ReplayEnvironment {
  /** Supplies the time and the timers. */
  readonly clock: Clock
  /** Makes a new id, given the current time in epoch milliseconds. */
  readonly newId: (now: number) => string
  /**
   * Returns the schema of the payloads of a channel and handler [payloads are not checked]. The handler is undefined for
   * events that go to another channel.
   */
  readonly schemaOf?:
    | ((channel: string, handler: string | undefined) => StandardSchema | undefined)
    | undefined
  /**
   * Returns why a channel's consumer cannot take events now; undefined when it can [not checked]. `sink` is given for letters
   * that go to a sink. An answer in the long form also says whose word it is.
   */
  readonly downstreamFault?:
    | ((
        channel: string,
        sink?: string,
      ) => string | undefined | DownstreamAnswer | Promise<string | undefined | DownstreamAnswer>)
    | undefined
  /**
   * Returns the route of a letter, to the channel `to` if it is given: `routeOf` of a replay target [not checked].
   */
  readonly routeOf?: ReplayTarget['routeOf'] | undefined
}

const TAKEN: ReplayRoute = Object.freeze({ kind: 'durable', via: 'another broker' })

export function routeThrough(
  target: ReplayTarget,
  letter: Pick<DeadLetter, 'channel' | 'handler' | 'origin'>,
  to: string | undefined,
): ReplayRoute | Promise<ReplayRoute> {
  return target.routeOf?.(letter, to) ?? TAKEN
}

/** The environment for plans with this target. */
export function withRoutes(environment: ReplayEnvironment, target: ReplayTarget): ReplayEnvironment {
  return { ...environment, routeOf: (letter, to) => routeThrough(target, letter, to) }
}
