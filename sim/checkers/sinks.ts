import { isHeld } from '../../src/core/dead-letter/state.ts'
import type { FactOf, History } from '../history.ts'
import type { SinkPlan } from '../plan.ts'
import { type EndedWorld, wasCancelled } from './checker.ts'

/**
 * Every tracked event has a true outcome for every sink: written at least once, a letter, or dropped by a rule and
 * counted. The outcome that `track` reported holds, and critical events in the journal are kept. Only an ordinary
 * event whose process died on the way has no outcome, because no one was told one.
 */
export function* sinks(ended: EndedWorld): Iterable<string> {
  const crashed = new Set(ended.history.of('machineCrashed').map(({ machine }) => machine))
  for (const tracked of ended.history.of('tracked')) {
    for (const sink of sinksOf(ended, tracked.by))
      yield* outcomeOf(ended, tracked, sink, crashed.has(tracked.by))
  }
  for (const [machine, count] of Object.entries(ended.journals))
    if (count > 0) yield `${count} critical events are still in the journal of ${machine}`
}

function* outcomeOf(
  ended: EndedWorld,
  tracked: FactOf<'tracked'>,
  sink: SinkPlan,
  hasCrashed: boolean,
): Iterable<string> {
  const { history, letters } = ended
  const { event, by } = tracked
  const who = `${event} in ${sink.name}`
  const isMine = (fact: { readonly event: string; readonly sink: string }) =>
    fact.event === event && (fact.sink === sink.name || fact.sink === '*')
  const holds = (fact: { readonly handler: string; readonly events: readonly string[] }) =>
    fact.handler === sink.name && fact.events.includes(event)
  const written = history.of('written').filter(holds)
  const acknowledged = history.of('acknowledged').filter(holds)
  const isOfSink = (each: { readonly handler: string }) => each.handler === sink.name || each.handler === '*'
  const letter = letters.find(each => each.event.id === event && isOfSink(each))
  // The letterChanges checker verifies that no undecided letter is deleted.
  const wasLetter =
    letter !== undefined || history.of('deleted').some(fact => fact.event === event && isOfSink(fact))
  const isDropped = history.of('droppedBySink').some(isMine)
  const reported = history.of('reported').find(isMine)?.outcome

  if (reported === 'delivered' && written.length === 0)
    yield `${who} was reported as delivered but was not written`
  if (reported === 'dead_lettered' && !wasLetter) yield `${who} was reported as a letter but is not one`
  if (reported === 'dropped' && !isDropped) yield `${who} was reported as dropped but was not counted`
  if (reported === undefined && !hasCrashed) yield `${who}: its outcome was never reported`
  const isPromised = !hasCrashed || history.of('journaled').some(fact => fact.event === event)
  if (isPromised && written.length === 0 && !wasLetter && !isDropped)
    yield `${who} is lost (reported outcome: ${reported})`

  // An event is both written and a letter only if the answer of the sink was lost, if a later process found the event in the
  // journal, or if the process ended before it resolved the letter, and a person reopened the letter or cancelled its replay.
  const isUnheard = written.some(({ write }) => !acknowledged.some(heard => heard.write === write))
  const isRecovered =
    written.some(({ consumer }) => consumer !== `${by}/${sink.name}`) ||
    history.of('saved').some(fact => fact.letter.id === letter?.id && fact.by !== by)
  const senders = [by, ...history.of('resent').flatMap(send => (isMine(send) ? (send.by ?? []) : []))]
  const goneAt = Math.min(...senders.map(process => endOf(history, process)))
  const isReopened = history
    .of('reopened')
    .some(fact => fact.event === event && isOfSink(fact) && goneAt <= fact.at)
  const isCancelled =
    hasCrashed &&
    history.of('resent').some(send => isMine(send) && send.by === by && wasCancelled(ended, send.replayId))
  const hasReason = isUnheard || isRecovered || isReopened || isCancelled
  if (letter !== undefined && isHeld(letter.state) && written.length > 0 && !hasReason)
    yield `${who} was written and acknowledged, but is also a letter that is ${letter.state}`
  const heardHere = acknowledged.filter(({ consumer }) => consumer === `${by}/${sink.name}`).length
  if (heardHere > 1 && !wasLetter)
    yield `${who} was written ${heardHere} times by ${by}, which had its acknowledgement`
}

/** When the process ended, with or without a crash. */
function endOf(history: History, process: string): number {
  const end = history.of('machineCrashed', 'machineClosing').find(({ machine }) => machine === process)
  return end?.at ?? Number.POSITIVE_INFINITY
}

export function sinksOf({ plan }: EndedWorld, process: string): readonly SinkPlan[] {
  const machine = plan.machines.find(({ name }) => process.startsWith(`${name}.`))
  return machine?.emitter?.sinks ?? []
}
