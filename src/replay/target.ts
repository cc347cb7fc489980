import type { DeadLetter, Origin } from '../core/dead-letter/letter.ts'
import type { LazaretEvent } from '../core/event/event.ts'
import type { WayBack } from '../ports/way-back.ts'
import type { Surroundings } from './plan.ts'

/**
 * Where replayed events go.
 *
 * - `send` resolves when the events, all of letters of this origin, are durably handed on. Handing on an event that is
 *   still on its way must change nothing.
 * - `wayBack` tells how a letter would go, `to` another channel if one is given, without sending anything. A target
 *   without it takes every letter and keeps what it takes.
 */
export interface ReplayTarget {
  send(events: readonly LazaretEvent[], origin: Origin): Promise<void>
  wayBack?(letter: Pick<DeadLetter, 'handler' | 'origin'>, to: string | undefined): WayBack
}

const TAKEN: WayBack = Object.freeze({ kind: 'durable', via: 'another broker' })

export function wayBackThrough(
  target: ReplayTarget,
  letter: Pick<DeadLetter, 'handler' | 'origin'>,
  to: string | undefined,
): WayBack {
  return target.wayBack?.(letter, to) ?? TAKEN
}

/** What a plan for this target is made with. */
export function withWayBack(around: Surroundings, target: ReplayTarget): Surroundings {
  return { ...around, wayBack: (letter, to) => wayBackThrough(target, letter, to) }
}
