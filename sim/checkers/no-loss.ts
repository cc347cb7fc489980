import type { DeadLetter } from '../../src/core/dead-letter/letter.ts'
import { isHeld } from '../../src/core/dead-letter/state.ts'
import type { FactOf } from '../history.ts'
import { nameOf } from '../names.ts'
import type { HandlerPlan } from '../plan.ts'
import { type EndedWorld, groupBy } from './checker.ts'

/**
 * Every published event ends in exactly one place: done, or a letter. None is lost and none is in two places, unless
 * there is a reason for it:
 *
 * - It was published more than once: then each copy has its end, and a late copy of an event that is done may die.
 * - Its letter was saved and the process heard no more, or died, before the broker knew: the event came again, and
 *   may have been handled then. The letter stays, because nobody can tell.
 */
export function* noLoss(ended: EndedWorld): Iterable<string> {
  if (ended.spilled > 0) yield `${ended.spilled} letters are still in spills`
  const published = groupBy(ended.history.of('published'), 'event')
  for (const handler of ended.plan.handlers) {
    const settled = groupBy(
      ended.history.of('settled').filter(fact => fact.handler === handler.name),
      'event',
    )
    for (const { name, channel } of ended.plan.events.values()) {
      if (channel !== handler.channel) continue
      const ends = (settled.get(name) ?? []).filter(isEnd)
      const letter = ended.letters.findLast(
        each => each.handler === handler.name && nameOf(each.event) === name,
      )
      const all = published.get(name) ?? []
      const copies = all.filter(({ to = handler.name }) => to === handler.name)
      const isForOthers = copies.length === 0 && all.length > 0
      yield* checkEvent(ended, handler, { name, copies, ends, letter, isForOthers })
    }
  }
}

interface Subject {
  readonly name: string
  readonly copies: readonly FactOf<'published'>[]
  readonly ends: readonly FactOf<'settled'>[]
  readonly letter: DeadLetter | undefined
  /** It was published, and each time for another handler alone. */
  readonly isForOthers: boolean
}

function* checkEvent(ended: EndedWorld, handler: HandlerPlan, subject: Subject): Iterable<string> {
  const { name, copies, ends, letter, isForOthers } = subject
  const who = `${name} at ${handler.name}`
  // What a stranger sends as a replay is for one handler only.
  if (copies.length === 0 && !isForOthers) yield `${who} was never published`
  if (ends.length !== copies.length)
    yield `${who} was published ${copies.length} times and ended ${ends.length} times`
  const done = ends.filter(({ outcome }) => outcome === 'done')
  const dead = ends.filter(({ outcome }) => outcome === 'dead')
  // A letter that only the broker keeps goes when another copy of its event is handled after all.
  const isSuperseded = dead.every(({ saved }) => !saved) && ends.at(-1)?.outcome === 'done'
  const isOver = ended.history
    .of('deleted')
    .some(fact => fact.event === name && fact.handler === handler.name && !isHeld(fact.state))
  if (dead.length > 0 && letter === undefined && !isSuperseded && !isOver)
    yield `${who} is lost: given up on, and there is no letter`
  if (letter === undefined) return
  if (letter.state === 'resolved' && done.length === 0 && !wasHandled(ended, handler, name))
    yield `${who} was never handled, but its letter is resolved`
  if (!isHeld(letter.state) || done.length === 0) return
  const wasInterrupted = hadInterruptedSave(ended, handler, name)
  const isRepeated = new Set(copies.map(({ replay }) => replay)).size < copies.length
  const isNewer = done.every(({ replay }) => replay < letter.cycle.number)
  // A stranger's copy may be handled while the letter is dead: the letter then stays for a person to decide.
  const isForged = copies.some(copy => copy.isForged === true)
  if (!wasInterrupted && !isRepeated && !isNewer && !isForged)
    yield `${who} is in two places: done, and a letter that is ${letter.state}`
}

function isEnd({ outcome }: FactOf<'settled'>): boolean {
  return outcome === 'done' || outcome === 'dead'
}

/** A handler may have succeeded in a process that had lost its delivery: the letter is resolved, the broker not told. */
function wasHandled({ history }: EndedWorld, handler: HandlerPlan, name: string): boolean {
  return history.of('returned').some(fact => fact.handler === handler.name && fact.event === name)
}

/** Letters that were saved, less the deaths that the broker heard of. */
function hadInterruptedSave({ history }: EndedWorld, handler: HandlerPlan, name: string): boolean {
  let open = 0
  for (const fact of history.of('saved', 'settled')) {
    if (fact.what === 'saved') {
      if (fact.letter.handler === handler.name && nameOf(fact.letter.event) === name) open++
    } else if (fact.event === name && fact.handler === handler.name && fact.outcome === 'dead' && fact.saved)
      open--
  }
  return open > 0
}
