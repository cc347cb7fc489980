import type { FactOf } from '../journal.ts'
import type { Ended } from './checker.ts'

/** A delivery may be on its way when pulling stops, and arrive late. */
const PULLS_FOR_MS = 500
/** What a close may take beyond its grace time where nothing goes wrong: the way to the broker, timers that are late. */
const UNTROUBLED_MS = 1_500

/**
 * Closing stops pulling, ends in bounded time whatever the weather, and leaves nothing: no timer, no delivery in hand, no
 * attempt. Only a call that hangs may outlive the close of its process.
 */
export function* leftovers(ended: Ended): Iterable<string> {
  const { journal, timers, depths, isAtRest } = ended
  const closedAt = new Map(journal.of('machineClosed').map(fact => [fact.machine, fact]))
  const crashed = new Set(journal.of('machineCrashed').map(({ machine }) => machine))
  for (const { machine, at } of journal.of('machineClosing')) {
    const closed = closedAt.get(machine)
    if (closed !== undefined) yield* leftBy(ended, closed)
    else if (!crashed.has(machine)) yield `${machine} began to close at ${at} and never ended`
  }
  yield* pulled(ended)
  if (!isAtRest) return
  if (timers > 0) yield `${timers} timers are left in a world where everything is closed`
  for (const [handler, depth] of Object.entries(depths))
    if (depth > 0) yield `closing left ${depth} in queue ${handler}`
}

function* leftBy({ journal }: Ended, closed: FactOf<'machineClosed'>): Iterable<string> {
  const { machine, tookMs, graceMs, allowedMs, timers, active, waiting } = closed
  const faults = journal.of('fault').filter(({ where }) => where === machine)
  const isTroubled = faults.some(({ kind, port }) => kind !== 'late' || port !== 'timer')
  const most = isTroubled ? allowedMs : graceMs + UNTROUBLED_MS
  if (tookMs > most) yield `${machine} took ${tookMs} ms to close; ${most} are allowed`
  if (faults.some(({ kind }) => kind === 'hang')) return
  // A notifier that never answers is a call that hangs, too.
  const isNotifying = journal
    .of('broke')
    .some(fact => fact.function === 'notifier' && fact.consumer.startsWith(`${machine}/`))
  if (timers > 0 && !isNotifying) yield `${machine} closed and left ${timers} timers`
  if (active + waiting > 0) yield `${machine} closed with ${active} active and ${waiting} waiting`
}

function* pulled({ journal }: Ended): Iterable<string> {
  const closingAt = new Map(journal.of('machineClosing').map(({ machine, at }) => [machine, at]))
  for (const { consumer, at, event } of journal.of('handedOver')) {
    const since = closingAt.get(consumer.slice(0, consumer.indexOf('/')))
    if (since !== undefined && at > since + PULLS_FOR_MS)
      yield `${consumer} closes since ${since}, and ${event} was handed over to it at ${at}`
  }
}
