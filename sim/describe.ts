import type { Plan } from './draw-plan.ts'
import type { Fact } from './history.ts'
import { nameOf } from './names.ts'

/** The plan of a world as text, one line for each part. */
export function describePlan(plan: Plan): string[] {
  const { handlers, machines, events, faultPlan, actions, ...rest } = plan
  return [
    `world ${JSON.stringify(rest)}`,
    ...handlers.map(handler => `handler ${JSON.stringify(handler)}`),
    ...machines.map(
      ({ name, handlers: own }) => `machine ${name}: ${own.map(handler => handler.name).join(', ')}`,
    ),
    ...[...events.values()].map(event => `event ${JSON.stringify(event)}`),
    `faults ${JSON.stringify(faultPlan)}`,
    ...actions.map(action => `action ${JSON.stringify(action)}`),
  ]
}

export function describeFact(fact: Fact): string {
  return `${String(fact.at).padStart(9)}  ${words(fact)}`
}

function words(fact: Fact): string {
  switch (fact.what) {
    case 'saved': {
      const { by, where, letter } = fact
      const { cycle, handler, state } = letter
      const attempts = `${cycle.attemptCount} attempts`
      return `${by}: letter of ${nameOf(letter.event)} at ${handler} is in the ${where}: ${cycle.reason}, cycle ${cycle.number}, ${attempts}, ${state}`
    }
    case 'fault':
      return `${fact.where}: FAULT ${fact.kind} in ${fact.port} ${fact.call}`
    case 'action':
      return `ACTION ${fact.description}`
    case 'jumped':
      return `ACTION the wall clock changes by ${fact.ms} ms`
    case 'faultsStopped':
      return '──────── end of the fault phase ────────'
    default:
      return details(fact)
  }
}

function details(fact: Fact): string {
  const { what, at: _, ...rest } = fact
  const consumer = 'consumer' in rest ? `${rest.consumer}: ` : ''
  const details = Object.entries(rest)
    .filter(([name]) => name !== 'consumer' && name !== 'handler')
    .map(([name, value]) => `${name} ${value}`)
  return `${consumer}${what} ${details.join(', ')}`
}
