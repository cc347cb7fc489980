import type { Ended } from './checker.ts'

/** A delivery may be on its way when pulling stops, and arrive late. */
const PULLS_FOR_MS = 500

/**
 * Closing stops pulling, ends in bounded time whatever the weather, and nothing is left: no timer, no delivery in hand,
 * no attempt.
 * While faults last, a call that hangs may outlive the close of its process, so only the last close must leave nothing.
 */
export function* leftovers({ journal, timers, depths, isAtRest }: Ended): Iterable<string> {
  const last = new Map(journal.of('machineClosing').map(({ machine }) => [machine.split('.')[0], machine]))
  const closedAt = new Map(journal.of('machineClosed').map(fact => [fact.machine, fact]))
  const crashed = new Set(journal.of('machineCrashed').map(({ machine }) => machine))
  for (const { machine, at } of journal.of('machineClosing')) {
    const closed = closedAt.get(machine)
    if (closed === undefined) {
      if (!crashed.has(machine)) yield `${machine} began to close at ${at} and never ended`
      continue
    }
    if (closed.tookMs > closed.allowedMs)
      yield `${machine} took ${closed.tookMs} ms to close; ${closed.allowedMs} are allowed`
    if (last.get(machine.split('.')[0]) !== machine) continue
    if (closed.timers > 0) yield `${machine} closed and left ${closed.timers} timers`
    if (closed.active + closed.waiting > 0)
      yield `${machine} closed with ${closed.active} active and ${closed.waiting} waiting`
  }
  const closingAt = new Map(journal.of('machineClosing').map(({ machine, at }) => [machine, at]))
  for (const { consumer, at, event } of journal.of('handedOver')) {
    const since = closingAt.get(consumer.slice(0, consumer.indexOf('/')))
    if (since !== undefined && at > since + PULLS_FOR_MS)
      yield `${consumer} closes since ${since}, and ${event} was handed over to it at ${at}`
  }
  if (!isAtRest) return
  if (timers > 0) yield `${timers} timers are left in a world where everything is closed`
  for (const [handler, depth] of Object.entries(depths))
    if (depth > 0) yield `closing left ${depth} in queue ${handler}`
}
