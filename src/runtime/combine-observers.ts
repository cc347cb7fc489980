import type { Observations, Observer } from '../ports/observer.ts'
import { observe } from './observe.ts'
import { standsForAll } from './user-functions/observer-faults.ts'

/** Every name of the map. An observer is asked for each: how it has its methods, as a class or a proxy, is its own affair. */
const ALL: Readonly<Record<keyof Observations, true>> = {
  callSucceeded: true,
  retrySucceeded: true,
  attemptFailed: true,
  retryScheduled: true,
  gaveUp: true,
  timedOut: true,
  breakerChanged: true,
  breakerRejected: true,
  rateLimited: true,
  retryLimited: true,
  retryAllowed: true,
  retryBatchReleased: true,
  sharedLimitChanged: true,
  budgetExhausted: true,
  handlerEnded: true,
  lateRun: true,
  ledgerFailed: true,
  claimLost: true,
  eventProcessed: true,
  consumerPaused: true,
  consumerResumed: true,
  subscriptionStalled: true,
  subscriptionRecovered: true,
  settlementFailed: true,
  userFunctionFailed: true,
  poisonQuarantined: true,
  replaySent: true,
  replayOutcome: true,
  replayItemEnded: true,
  letterSaved: true,
  letterFiltered: true,
  letterWriteFailed: true,
  letterSpilled: true,
  spillDrained: true,
  lettersExpired: true,
  noticeFailed: true,
  eventLimited: true,
  batchWritten: true,
  undelivered: true,
  eventDropped: true,
  trackedInJob: true,
  trackingFailureSwallowed: true,
  journalFailed: true,
  healthChecked: true,
}
const NAMES = Object.keys(ALL) as (keyof Observations)[]

/**
 * One observer that tells several, in the order given. What none of them watches, it does not watch either; and one of
 * them that throws keeps nothing from the others.
 */
export function combineObservers(...observers: readonly Observer[]): Observer {
  const combined: Partial<Record<keyof Observations, (event: never) => void>> = {}
  for (const what of NAMES) {
    const watching = observers.filter(observer => typeof observer[what] === 'function')
    if (watching.length === 0) continue
    combined[what] = (event: never) => {
      for (const observer of watching) observe(observer, what, event)
    }
  }
  standsForAll(combined as Observer, observers)
  return combined as Observer
}
