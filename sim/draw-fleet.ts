import { Chance } from './chance.ts'
import { drawEmitter } from './draw-emitters.ts'
import type { FaultKind } from './faults.ts'
import type { CommandPlan, FleetActionPlan, FleetPlan, ReplayPlan, TaskKind } from './fleet-plan.ts'
import { KEPT_SEEDS } from './kept-seeds.ts'
import type { EmitterPlan, HandlerPlan, MachinePlan } from './plan.ts'

/** The share of worlds with a fleet. */
const HAS_FLEET = 0.25
const TASKS: readonly TaskKind[] = ['pause', 'resume', 'breaker', 'probe', 'validate', 'resend']
const SINK_TASKS: readonly TaskKind[] = ['breaker', 'probe', 'resend', 'resend']
const FAULTS: readonly FaultKind[] = ['refuse', 'lose', 'hang', 'crash-before', 'crash-after']

/** The random source that decides on the fleet of a world; undefined for a world without one. */
export function fleetChance(seed: number): Chance | undefined {
  const chance = new Chance(seed, 11)
  return !KEPT_SEEDS.has(seed) && chance.maybe(HAS_FLEET) ? chance : undefined
}

/** Machines of one program have the same sinks, so that each can send the letters of another. */
export function withEmitters(chance: Chance, machines: readonly MachinePlan[]): readonly MachinePlan[] {
  if (chance.maybe(0.5)) return machines.map(machine => ({ ...machine, emitter: undefined }))
  const emitter: EmitterPlan = drawEmitter(chance)
  return machines.map((machine, index) => ({
    ...machine,
    emitter: index === 0 || chance.maybe(0.7) ? emitter : undefined,
  }))
}

export function drawFleet(
  chance: Chance,
  machines: readonly MachinePlan[],
  handlers: readonly HandlerPlan[],
  faultPhaseMs: number,
): FleetPlan {
  const members = machines.filter((_, index) => index === 0 || chance.maybe(0.8))
  const sinks = machines.flatMap(({ emitter }) => emitter?.sinks.map(({ name }) => name) ?? [])
  const draw = (): FleetActionPlan => drawAction(chance, handlers, [...new Set(sinks)], faultPhaseMs)
  return {
    services: Object.fromEntries(members.map(({ name }) => [name, chance.pick(['shop', 'shop', 'web'])])),
    servers: chance.pick([1, 1, 2]),
    announces: chance.maybe(0.5),
    actions: Array.from({ length: chance.pick([4, 8, 16]) }, draw),
    rates: { fleet: drawRates(chance), server: drawRates(chance) },
  }
}

function drawRates(chance: Chance): { readonly [K in FaultKind]?: number } {
  const kinds = FAULTS.filter(() => chance.maybe(0.3))
  return Object.fromEntries(kinds.map(kind => [kind, chance.pick([0.005, 0.02, 0.06])]))
}

function drawAction(
  chance: Chance,
  handlers: readonly HandlerPlan[],
  sinks: readonly string[],
  faultPhaseMs: number,
): FleetActionPlan {
  // Most come late, when there are processes and letters.
  const atMs = chance.maybe(0.8) ? chance.int(faultPhaseMs / 2, faultPhaseMs) : chance.int(0, faultPhaseMs)
  if (chance.maybe(0.4)) return drawCommand(chance, handlers, sinks, atMs)
  if (chance.maybe(0.7)) return drawReplay(chance, handlers, sinks, atMs)
  return {
    kind: chance.pick([
      'pause-replay',
      'resume-replay',
      'cancel-replay',
      'crash-server',
      'restart-server',
    ] as const),
    atMs,
  }
}

function drawCommand(
  chance: Chance,
  handlers: readonly HandlerPlan[],
  sinks: readonly string[],
  atMs: number,
): CommandPlan {
  const isForSink = sinks.length > 0 && chance.maybe(0.5)
  const { channel, name } = chance.pick(handlers)
  return {
    kind: 'command',
    atMs,
    task: chance.pick(isForSink ? SINK_TASKS : TASKS.filter(task => task !== 'resend')),
    part: isForSink
      ? { sink: chance.pick(sinks) }
      : { channel, handler: chance.maybe(0.5) ? name : undefined },
    to: chance.pick(['open', 'closed', 'auto']),
    whom: chance.pick(['instance', 'service', 'all', 'any']),
  }
}

function drawReplay(
  chance: Chance,
  handlers: readonly HandlerPlan[],
  sinks: readonly string[],
  atMs: number,
): ReplayPlan {
  const filters = [
    {},
    ...handlers.map(({ channel }) => ({ channel })),
    ...sinks.map(handler => ({ channel: 'events', handler })),
  ]
  return {
    kind: 'replay',
    atMs,
    filter: chance.pick(filters),
    perSecond: chance.pick([1, 5, 50]),
    stages: chance.pick([[1, 'rest'], [2, 3, 'rest'], ['rest']] as const),
    haltRefailRatio: chance.pick([0.2, 1, 1]),
    haltOnSameFingerprint: chance.maybe(0.3),
    allowQuarantined: chance.maybe(0.3),
  }
}
