import type { Fact } from './journal.ts'
import { nameOf } from './names.ts'
import type { Plan } from './world.ts'

/** A world in words: what it was made of, then what happened in it, one line each. */
export function tellWorld(plan: Plan): string[] {
  const { handlers, machines, events, weather, deeds, ...rest } = plan
  return [
    `world ${JSON.stringify(rest)}`,
    ...handlers.map(handler => `handler ${JSON.stringify(handler)}`),
    ...machines.map(
      ({ name, handlers: own }) => `machine ${name}: ${own.map(handler => handler.name).join(', ')}`,
    ),
    ...[...events.values()].map(event => `event ${JSON.stringify(event)}`),
    `weather ${JSON.stringify(weather)}`,
    ...deeds.map(deed => `deed ${JSON.stringify(deed)}`),
  ]
}

export function tellFact(fact: Fact): string {
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
    case 'deed':
      return `DEED ${fact.told}`
    case 'jumped':
      return `DEED the clock is set by ${fact.ms} ms`
    case 'calm':
      return '──────── faults stop ────────'
    default:
      return details(fact)
  }
}

function details(fact: Fact): string {
  const { what, at: _, ...rest } = fact
  const consumer = 'consumer' in rest ? `${rest.consumer}: ` : ''
  const told = Object.entries(rest)
    .filter(([name]) => name !== 'consumer' && name !== 'handler')
    .map(([name, value]) => `${name} ${value}`)
  return `${consumer}${what} ${told.join(', ')}`
}
