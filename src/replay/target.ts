import type { DeadLetter, Origin } from '../core/dead-letter/letter.ts'
import type { LazaretEvent } from '../core/event/event.ts'
import type { Clock } from '../ports/clock.ts'
import type { ReplayRoute } from '../ports/collector.ts'
import type { StandardSchema } from '../ports/schema.ts'

/**
 * Where replayed events go.
 *
 * - `send` resolves when the events, all of letters of this origin, are durably handed on. Handing on an event that is
 *   still on its way must change nothing.
 * - `routeOf` tells how a letter would go, `to` another channel if one is given, without sending anything. A target
 *   without it takes every letter and keeps what it takes.
 */
export interface ReplayTarget {
  send(events: readonly LazaretEvent[], origin: Origin): Promise<void>
  routeOf?(letter: Pick<DeadLetter, 'handler' | 'origin'>, to: string | undefined): ReplayRoute
}

/** What is known outside the store; what is not given is not checked. */
export interface ReplayEnvironment {
  /** Supplies the time and the timers. */
  readonly clock: Clock
  /** Makes a new id, given the current time in epoch milliseconds. */
  readonly newId: (now: number) => string
  /** Returns the schema of a channel's payloads [payloads are not checked]. */
  readonly schemaOf?: ((channel: string) => StandardSchema | undefined) | undefined
  /** Returns why a channel's consumer cannot take events now; undefined when it can [not checked]. */
  readonly downstreamFault?:
    | ((channel: string) => string | undefined | Promise<string | undefined>)
    | undefined
  /**
   * Returns how a letter can be sent from here, `to` another channel if one is given: `routeOf` of a target [not
   * checked].
   */
  readonly routeOf?: ReplayTarget['routeOf'] | undefined
}

const TAKEN: ReplayRoute = Object.freeze({ kind: 'durable', via: 'another broker' })

export function routeThrough(
  target: ReplayTarget,
  letter: Pick<DeadLetter, 'handler' | 'origin'>,
  to: string | undefined,
): ReplayRoute {
  return target.routeOf?.(letter, to) ?? TAKEN
}

/** What a plan for this target is made with. */
export function withRoutes(environment: ReplayEnvironment, target: ReplayTarget): ReplayEnvironment {
  return { ...environment, routeOf: (letter, to) => routeThrough(target, letter, to) }
}
