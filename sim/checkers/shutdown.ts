import type { FactOf } from '../history.ts'
import type { EndedWorld } from './checker.ts'

/** A delivery can be on its way when the consumer stops pulling. */
const PULLS_FOR_MS = 500
/** The time of a close without faults beyond the grace time: latency of the broker, late timers. */
const FAULT_FREE_CLOSE_MS = 1_500

/**
 * Closing stops pulling, ends in bounded time under any faults, and leaves nothing: no timer, no open delivery, no
 * attempt. Otherwise deployments would hang or lose work. Only a hanging call may outlive the close of its process.
 */
export function* shutdown(ended: EndedWorld): Iterable<string> {
  const { history, timers, depths, isIdle } = ended
  const closedAt = new Map(history.of('machineClosed').map(fact => [fact.machine, fact]))
  const crashed = new Set(history.of('machineCrashed').map(({ machine }) => machine))
  for (const { machine, at } of history.of('machineClosing')) {
    const closed = closedAt.get(machine)
    if (closed !== undefined) yield* leftBy(ended, closed)
    else if (!crashed.has(machine)) yield `${machine} began to close at ${at} and never ended`
  }
  yield* pulled(ended)
  if (!isIdle) return
  if (timers > 0) yield `${timers} timers are left after everything was closed`
  for (const [handler, depth] of Object.entries(depths))
    if (depth > 0) yield `closing left ${depth} events in queue ${handler}`
}

function* leftBy({ history }: EndedWorld, closed: FactOf<'machineClosed'>): Iterable<string> {
  const { machine, tookMs, graceMs, allowedMs, timers, active, waiting } = closed
  const faults = history.of('fault').filter(({ where }) => where === machine)
  const hadFaults = faults.some(({ kind, port }) => kind !== 'late' || port !== 'timer')
  const most = hadFaults ? allowedMs : graceMs + FAULT_FREE_CLOSE_MS
  if (tookMs > most) yield `${machine} took ${tookMs} ms to close; ${most} are allowed`
  if (faults.some(({ kind }) => kind === 'hang')) return
  // A notifier that never answers is also a hanging call.
  const isNotifying = history
    .of('broke')
    .some(fact => fact.function === 'notifier' && fact.consumer.startsWith(`${machine}/`))
  if (timers > 0 && !isNotifying) yield `${machine} closed and left ${timers} timers`
  if (active + waiting > 0) yield `${machine} closed with ${active} running and ${waiting} waiting events`
}

function* pulled({ history }: EndedWorld): Iterable<string> {
  const closingAt = new Map(history.of('machineClosing').map(({ machine, at }) => [machine, at]))
  for (const { consumer, at, event } of history.of('delivered')) {
    const since = closingAt.get(consumer.slice(0, consumer.indexOf('/')))
    if (since !== undefined && at > since + PULLS_FOR_MS)
      yield `${consumer} has been closing since ${since}, but ${event} was delivered to it at ${at}`
  }
}
