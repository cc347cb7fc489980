import type { FactOf } from '../history.ts'
import { nameOf } from '../names.ts'
import type { EndedWorld } from './checker.ts'

/**
 * A letter changes its state only through a person or through its own event: an event with its id, handled by its
 * handler in the process that changed the letter, under the replay that the letter is in. One exception: a run that
 * ended after its deadline, and so made its event a letter, may resolve that letter without a replay. Headers of
 * forged or other events change nothing, because any publisher can set headers. The cleanup deletes only resolved and
 * discarded letters, because the others still need a decision.
 */
export function* letterChanges({ plan, history }: EndedWorld): Iterable<string> {
  const keys = new Map([...plan.events].map(([name, { idempotencyKey }]) => [name, idempotencyKey]))
  const resent = new Set<string>()
  /**
   * By handler, event and replay: the events that the operator sent, and the events that some consumer of the handler
   * got.
   */
  const sent = new Set<string>()
  const given = new Set<string>()
  /** By consumer and event: the replays under which it was delivered. */
  const replays = new Map<string, Set<string>>()
  /** By consumer and event, or by consumer and idempotency key: handled here, or done in the ledger. */
  const handled = new Set<string>()
  /** Runs after their deadline, and by consumer and event those that succeeded late. */
  const aborted = new Set<number>()
  const handledLate = new Set<string>()
  for (const fact of history.facts) {
    switch (fact.what) {
      case 'resent':
        resent.add(`${fact.sink} ${fact.event}`)
        break
      case 'delivered': {
        const id = `${fact.consumer} ${fact.event}`
        given.add(`${fact.handler} ${fact.event} ${fact.replayId}`)
        if (fact.replayId !== undefined) replays.set(id, (replays.get(id) ?? new Set()).add(fact.replayId))
        break
      }
      case 'published':
        if (fact.replayId !== undefined) sent.add(`${fact.to} ${fact.event} ${fact.replayId}`)
        break
      case 'saved': {
        const { became, letter, by } = fact
        const event = nameOf(letter.event)
        // Only letters in a store are replayed, and only the operator replays letters of sinks.
        if (became === undefined || plan.letters !== 'store' || resent.has(`${letter.handler} ${event}`))
          break
        const { from, to, replayId } = became
        const claimed = `${letter.handler} ${event} ${letter.cycle.replayId}`
        const saved = `the failure of ${event} at ${letter.handler} that ${by} saved`
        if (from === 'replaying' && !(letter.cycle.replayId === replayId && given.has(claimed)))
          yield `${saved} changed its letter from replaying to ${to}, but was not part of the replay ${replayId}`
        else if (to === 'parked' && !sent.has(claimed))
          yield `${saved} parked its letter, which was ${from}, but no replay had sent it`
        break
      }
      case 'aborted':
        aborted.add(fact.run)
        break
      case 'returned':
        handled.add(`${fact.consumer} ${fact.event}`)
        if (aborted.has(fact.run)) handledLate.add(`${fact.consumer} ${fact.event}`)
        break
      case 'claimed':
        if (fact.answer === 'done') handled.add(`${fact.consumer} ${fact.key}`)
        break
      case 'deleted':
        if (fact.state !== 'resolved' && fact.state !== 'discarded')
          yield `the cleanup deleted the letter of ${fact.event} at ${fact.handler}, which was ${fact.state}`
        break
      case 'changed': {
        if (fact.by === 'operator') break
        const id = `${fact.by}/${fact.handler} ${fact.event}`
        const key = `${fact.by}/${fact.handler} ${keys.get(fact.event)}`
        const isOfSink = resent.has(`${fact.handler} ${fact.event}`)
        const isItsReplay = fact.replayId !== undefined && replays.get(id)?.has(fact.replayId) === true
        const isReplaying = fact.from === 'replaying'
        const wasHandled = handled.has(id) || handled.has(key)
        if (fact.to === 'resolved' && (handledLate.has(id) || (isItsReplay && wasHandled && isReplaying)))
          break
        if (!isReplaying) yield `${describe(fact)}, but no replay of it was running`
        else if (!isOfSink && !isItsReplay)
          yield `${describe(fact)}, but did not get its event under that replay`
        else if (!isOfSink && fact.to === 'resolved') yield `${describe(fact)}, but did not handle its event`
      }
    }
  }
}

function describe({ by, event, handler, from, to }: FactOf<'changed'>): string {
  return `${by} changed the letter of ${event} at ${handler} from ${from} to ${to}`
}
