import type { DeadLetter } from '../../src/core/dead-letter/letter.ts'
import { isHeld } from '../../src/core/dead-letter/state.ts'
import { DELIVERY_MS, GIVE_UP_MS } from '../../src/runtime/fleet/deliver.ts'
import type { FactOf } from '../history.ts'
import { nameOf } from '../names.ts'
import type { HandlerPlan } from '../plan.ts'
import { type EndedWorld, groupBy, wasCancelled } from './checker.ts'
import { wasInterrupted } from './interruptions.ts'

/**
 * Every published event has exactly one end for each handler: done, or a letter. No event is lost, and none has two
 * ends, except for a reason:
 *
 * - The event was published more than once: each copy has its own end, and a late copy of a done event may become a
 *   letter.
 * - The letter was saved, but the process died or lost its connection before the broker knew: the broker delivered the
 *   event again, and a handler may have handled it. The letter stays, because no one can know.
 * - A process of the fleet published a replay, and got no answer or could not record it, and the replay was cancelled: the
 *   letter is dead again, and the event may be handled after that.
 *
 * This is the main promise of Lazaret, so this checker runs for every event of every world.
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
  /** Every copy was published for another handler. */
  readonly isForOthers: boolean
}

function* checkEvent(ended: EndedWorld, handler: HandlerPlan, subject: Subject): Iterable<string> {
  const { name, copies, ends, letter, isForOthers } = subject
  const who = `${name} at ${handler.name}`
  // A forged replay is for one handler only.
  if (copies.length === 0 && !isForOthers) yield `${who} was never published`
  if (ends.length !== copies.length)
    yield `${who} was published ${copies.length} times and ended ${ends.length} times`
  const done = ends.filter(({ outcome }) => outcome === 'done')
  const dead = ends.filter(({ outcome }) => outcome === 'dead')
  // A broker drops its letter when another copy of the event is handled.
  const isSuperseded = dead.every(({ saved }) => !saved) && ends.at(-1)?.outcome === 'done'
  const isOver = ended.history
    .of('deleted')
    .some(fact => fact.event === name && fact.handler === handler.name && !isHeld(fact.state))
  if (dead.length > 0 && letter === undefined && !isSuperseded && !isOver)
    yield `${who} is lost: dead, but there is no letter`
  if (letter === undefined) return
  if (letter.state === 'resolved' && done.length === 0 && !wasHandled(ended, handler, name))
    yield `${who} was never handled, but its letter is resolved`
  if (!isHeld(letter.state) || done.length === 0) return
  const wasSavedEarly = hadInterruptedSave(ended, handler, name)
  const isRepeated = new Set(copies.map(({ replay }) => replay)).size < copies.length
  const isNewer = done.every(({ replay }) => replay < letter.cycle.number)
  // A forged copy can be handled while the letter is dead. The letter stays for a person to decide.
  const isForged = copies.some(copy => copy.isForged === true)
  const isUnanswered = copies.some(copy => hadNoAnswer(ended, copy))
  if (!wasSavedEarly && !isRepeated && !isNewer && !isForged && !isUnanswered)
    yield `${who} has two ends: done, and a letter that is ${letter.state}`
}

/** Whether a process of the fleet published the copy without an answer, or a record of it, for a replay that was cancelled. */
function hadNoAnswer(ended: EndedWorld, copy: FactOf<'published'>): boolean {
  const { by, at, replayId } = copy
  if (by === undefined || !wasCancelled(ended, replayId)) return false
  const span = { fromMs: at, untilMs: at }
  return (
    wasInterrupted(
      ended.history.facts,
      by,
      span,
      ({ port, call }) => port === 'broker' && call === 'publish',
    ) || wasNotRecorded(ended, by, at)
  )
}

/** Whether the store refused the record of a send until the delivery was over or the process ended. */
function wasNotRecorded({ history: { facts } }: EndedWorld, process: string, sentAt: number): boolean {
  const delivery = { fromMs: sentAt, untilMs: sentAt + GIVE_UP_MS }
  const itsEnd = { ...delivery, fromMs: delivery.untilMs - DELIVERY_MS }
  const isRecord = ({ port, call }: { readonly port: string; readonly call: string }) =>
    port === 'fleet' && call === 'record'
  const hasEnded = wasInterrupted(facts, process, delivery, () => false)
  return wasInterrupted(facts, process, hasEnded ? delivery : itsEnd, isRecord)
}

function isEnd({ outcome }: FactOf<'settled'>): boolean {
  return outcome === 'done' || outcome === 'dead'
}

/**
 * A handler can succeed in a process that has lost its delivery: the letter is resolved, but the broker does not know.
 */
function wasHandled({ history }: EndedWorld, handler: HandlerPlan, name: string): boolean {
  return history.of('returned').some(fact => fact.handler === handler.name && fact.event === name)
}

/** Whether more letters were saved than the broker has dead settlements. */
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
