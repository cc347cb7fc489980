import { nameOf } from '../names.ts'
import { type EndedWorld, groupBy } from './checker.ts'

/**
 * What a handler publishes while it handles an event is an event like any other: each handler of its channel has handled it,
 * or there is a letter, or a rule has dropped it. That holds whatever headers the handler copied.
 */
export function* followUps({ plan, history, letters }: EndedWorld): Iterable<string> {
  const published = history.of('published').filter(({ follows }) => follows !== undefined)
  if (published.length === 0) return
  const over = groupBy(history.of('returned', 'dropped'), 'handler', 'event')
  const kept = new Set(letters.map(({ handler, event }) => `${handler} ${nameOf(event)}`))
  // Resolved by a person, and old: the authority checker sees to it that no others are deleted.
  for (const { handler, event } of history.of('deleted')) kept.add(`${handler} ${event}`)
  for (const { event, channel, follows } of published) {
    for (const { name } of plan.handlers.filter(handler => handler.channel === channel)) {
      const id = `${name} ${event}`
      if (!over.has(id) && !kept.has(id))
        yield `${event}, which follows ${follows}, was neither handled by ${name} nor is it a letter`
    }
  }
}
