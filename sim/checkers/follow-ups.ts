import { nameOf } from '../names.ts'
import { type EndedWorld, groupBy } from './checker.ts'

/**
 * An event that a handler publishes is an event like any other: each handler of its channel handled it, or it became a
 * letter, or a rule dropped it. Handlers often copy all headers, so replay headers of the handled event must not
 * change this.
 */
export function* followUps({ plan, history, letters }: EndedWorld): Iterable<string> {
  const published = history.of('published').filter(({ follows }) => follows !== undefined)
  if (published.length === 0) return
  const over = groupBy(history.of('returned', 'dropped'), 'handler', 'event')
  const kept = new Set(letters.map(({ handler, event }) => `${handler} ${nameOf(event)}`))
  // Retention deletes old resolved letters. The letterChanges checker verifies that it deletes no others.
  for (const { handler, event } of history.of('deleted')) kept.add(`${handler} ${event}`)
  for (const { event, channel, follows } of published) {
    for (const { name } of plan.handlers.filter(handler => handler.channel === channel)) {
      const id = `${name} ${event}`
      if (!over.has(id) && !kept.has(id))
        yield `${event}, a follow-up of ${follows}, was not handled by ${name} and is not a letter`
    }
  }
}
