import type { Chance } from './chance.ts'
import type { FaultKind, FaultPlan, FleetPort, HandlerFault, Outage, OutageKind, Port } from './faults.ts'
import type { FleetPlan } from './fleet-plan.ts'
import type { HandlerPlan, MachinePlan } from './plan.ts'

/** An action of people, the network or the clock, at a fixed time. */
export type PlannedAction = { readonly atMs: number } & (
  | { readonly kind: 'crash' | 'disconnect' | 'pause' | 'resume'; readonly machine: string }
  | { readonly kind: 'restart'; readonly machine: string }
  | { readonly kind: 'force'; readonly machine: string; readonly to: 'open' | 'closed' | 'auto' }
  | { readonly kind: 'jump'; readonly ms: number }
  /** The producer publishes an event again. */
  | { readonly kind: 'repeat' }
  /** The operator replays dead letters. */
  | { readonly kind: 'replay' }
  /** The operator unblocks keys without their dead-lettered events. */
  | { readonly kind: 'unblockKey' }
)

const OUTAGES: readonly OutageKind[] = [
  'store-down',
  'store-down',
  'store-hangs',
  'ledger-down',
  'disk-full',
  'dependency-down',
  'dependency-down',
  'sink-down',
]
const HANDLER_FAULTS: readonly HandlerFault[] = [
  'transient',
  'transient',
  'retry-after',
  'integration',
  'permanent',
  'schema',
  'unknown',
  'throws-undefined',
  'hang',
  'ignores-signal',
  'slow',
  'crash',
  'crash-after',
]
/** The fault kinds that each port can have. Timers and deliveries can only be late. A fleet has its own faults. */
const POSSIBLE: { readonly [P in Exclude<Port, FleetPort>]: readonly FaultKind[] } = {
  broker: ['refuse', 'lose', 'hang', 'crash-before', 'crash-after'],
  subscribe: ['refuse', 'lose', 'hang', 'crash-before', 'crash-after'],
  delivery: ['late'],
  producer: ['refuse', 'lose'],
  store: ['refuse', 'lose', 'hang', 'crash-before', 'crash-after'],
  spill: ['refuse', 'lose', 'crash-before', 'crash-after'],
  ledger: ['refuse', 'lose', 'hang', 'crash-before', 'crash-after'],
  sink: ['refuse', 'lose', 'hang', 'crash-before', 'crash-after'],
  journal: ['refuse', 'lose', 'crash-before', 'crash-after'],
  timer: ['late'],
}

/** Draws a few fault kinds with noticeable rates. A low rate of every kind would find few bugs. */
export function drawFaultPlan(
  chance: Chance,
  faultPhaseMs: number,
  handlers: readonly HandlerPlan[],
  fleetRates: FleetPlan['rates'] = { fleet: {}, server: {} },
): FaultPlan {
  const rates = { ...fleetRates } as Record<Port, Record<string, number>>
  for (const [port, kinds] of Object.entries(POSSIBLE) as [Port, readonly FaultKind[]][]) {
    rates[port] = {}
    for (const kind of kinds) if (chance.maybe(0.2)) rates[port][kind] = chance.pick([0.02, 0.05, 0.15])
  }
  // Under a drawn retry limit the start times are exact, so timers are never late there. The default limit is far away.
  if (handlers.some(({ retryLimit }) => retryLimit !== undefined)) rates.timer = {}
  const handlerFaults: { [M in HandlerFault]?: number } = {}
  for (const handlerFault of HANDLER_FAULTS)
    if (chance.maybe(0.25)) handlerFaults[handlerFault] = chance.pick([0.03, 0.1, 0.25])
  return {
    rates,
    handlerFaults,
    outages: drawOutages(chance, faultPhaseMs),
    latencyMs: chance.pick([0, 0, 0, 5, 50]),
    maxCrashes: chance.pick([0, 2, 8]),
    workMs: chance.pick([60, 60, 60, 1_500]),
  }
}

function drawOutages(chance: Chance, faultPhaseMs: number): readonly Outage[] {
  return OUTAGES.filter(() => chance.maybe(0.15)).map(kind => {
    const fromMs = chance.int(0, faultPhaseMs)
    return { kind, fromMs, untilMs: fromMs + chance.int(10, faultPhaseMs / 2) }
  })
}

export function drawActions(
  chance: Chance,
  faultPhaseMs: number,
  machines: readonly MachinePlan[],
): readonly PlannedAction[] {
  const kinds = (
    ['crash', 'disconnect', 'pause', 'restart', 'force', 'jump', 'repeat', 'replay', 'unblockKey'] as const
  ).filter(() => chance.maybe(0.3))
  return kinds
    .flatMap(kind =>
      Array.from({ length: chance.int(1, 3) }, () => drawAction(chance, kind, faultPhaseMs, machines)).flat(),
    )
    .sort((a, b) => a.atMs - b.atMs)
}

function drawAction(
  chance: Chance,
  kind: Exclude<PlannedAction['kind'], 'resume'>,
  faultPhaseMs: number,
  machines: readonly MachinePlan[],
): PlannedAction[] {
  const atMs = chance.maybe(0.2) ? 0 : chance.int(0, faultPhaseMs)
  const machine = chance.pick(machines).name
  switch (kind) {
    case 'jump':
      return [{ kind, atMs, ms: chance.pick([-50, 50, -2_000, 2_000, -40_000, 40_000, -600_000, 600_000]) }]
    case 'force':
      return [{ kind, atMs, machine, to: chance.pick(['open', 'closed', 'auto']) }]
    case 'pause':
      return [
        { kind, atMs, machine },
        { kind: 'resume', atMs: atMs + chance.int(0, 3_000), machine },
      ]
    case 'repeat':
    case 'replay':
    case 'unblockKey':
      return [{ kind, atMs }]
    default:
      return [{ kind, atMs, machine }]
  }
}
