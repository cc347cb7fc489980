import { Chance } from './chance.ts'
import { drawEmitter, drawTracks } from './draw-emitters.ts'
import { drawExtras, withKindByHandler } from './draw-extras.ts'
import { drawActions, drawFaultPlan, type PlannedAction } from './draw-faults.ts'
import { drawFleet, fleetChance, withEmitters } from './draw-fleet.ts'
import { drawEvents, drawHandlers } from './draw-handlers.ts'
import { drawSwings } from './draw-swings.ts'
import type { Extras } from './extras.ts'
import type { FaultPlan } from './faults.ts'
import type { FleetPlan } from './fleet-plan.ts'
import type { EventPlan, HandlerPlan, MachinePlan, TrackPlan } from './plan.ts'

/** The plan of a small world, drawn completely from its seed. */
export interface Plan {
  readonly seed: number
  /** The length of the fault phase. */
  readonly faultPhaseMs: number
  readonly handlers: readonly HandlerPlan[]
  readonly machines: readonly MachinePlan[]
  readonly events: ReadonlyMap<string, EventPlan>
  readonly tracks: ReadonlyMap<string, TrackPlan>
  readonly hasLedger: boolean
  /** A complete store, a write-only one, or the broker's own dead-letter queue. */
  readonly letters: 'store' | 'queue' | 'broker'
  readonly hasSpill: boolean
  /** Whether retries can wait in the broker. */
  readonly brokerDelays: boolean
  readonly faultPlan: FaultPlan
  readonly actions: readonly PlannedAction[]
  readonly extras: Extras
  /** Undefined in most worlds: their processes do not report themselves. */
  readonly fleet: FleetPlan | undefined
}

export function drawPlan(seed: number): Plan {
  const chance = new Chance(seed, 1)
  const faultPhaseMs = chance.pick([5_000, 20_000, 60_000])
  const base = drawHandlers(chance)
  const extraChance = new Chance(seed, 9)
  const extras = drawExtras(extraChance, base, faultPhaseMs)
  const handlers = [...base, ...extras.handlers]
  const machineCount = chance.int(1, 3)
  const emitting = new Chance(seed, 8)
  const drawn = Array.from({ length: machineCount }, (_, index) => ({
    name: `m${index + 1}`,
    // The first machine runs all handlers, so that every handler has a consumer.
    handlers:
      index === 0
        ? handlers
        : [...base.filter(() => chance.maybe(0.7)), ...extras.handlers.filter(() => extraChance.maybe(0.7))],
    emitter: emitting.maybe(0.25) ? drawEmitter(emitting) : undefined,
  })).filter(machine => machine.handlers.length > 0)
  const ofFleet = fleetChance(seed)
  const machines = ofFleet === undefined ? drawn : withEmitters(ofFleet, drawn)
  const drawnLetters = chance.pick(['store', 'store', 'store', 'queue', 'broker'] as const)
  // A fleet needs a store that its processes share.
  const letters = ofFleet === undefined ? drawnLetters : 'store'
  const fleet = ofFleet && drawFleet(ofFleet, machines, handlers, faultPhaseMs)
  return {
    seed,
    faultPhaseMs,
    handlers,
    machines,
    events: new Map(
      withKindByHandler(extraChance, drawEvents(chance, base, faultPhaseMs), extras.handlers).map(event => [
        event.name,
        event,
      ]),
    ),
    tracks: new Map(drawTracks(emitting, machines, faultPhaseMs).map(track => [track.name, track])),
    hasLedger: chance.maybe(0.5),
    letters,
    hasSpill: letters !== 'broker' && chance.maybe(0.6),
    brokerDelays: chance.maybe(0.85),
    faultPlan: drawFaultPlan(new Chance(seed, 2), faultPhaseMs, handlers, fleet?.rates),
    actions: [
      ...drawActions(new Chance(seed, 3), faultPhaseMs, machines),
      ...(fleet === undefined ? drawSwings(seed, faultPhaseMs) : []),
    ],
    extras,
    fleet,
  }
}
