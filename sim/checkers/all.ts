import { attemptCounts } from './attempt-counts.ts'
import { attempts } from './attempts.ts'
import { breaker } from './breaker.ts'
import type { Checker, EndedWorld, Violation } from './checker.ts'
import { commands } from './commands.ts'
import { completion } from './completion.ts'
import { fleetReplays } from './fleet-replays.ts'
import { followUps } from './follow-ups.ts'
import { lanes } from './lanes.ts'
import { letterChanges } from './letter-changes.ts'
import { letters } from './letters.ts'
import { noLoss } from './no-loss.ts'
import { order } from './order.ts'
import { overlap } from './overlap.ts'
import { poison } from './poison.ts'
import { retryRate } from './retry-rate.ts'
import { settlements } from './settlements.ts'
import { shutdown } from './shutdown.ts'
import { singleEffect } from './single-effect.ts'
import { sinks } from './sinks.ts'

export const CHECKERS: { readonly [name: string]: Checker } = {
  completion,
  noLoss,
  settlements,
  singleEffect,
  attempts,
  attemptCounts,
  order,
  poison,
  retryRate,
  breaker,
  letters,
  sinks,
  lanes,
  shutdown,
  followUps,
  letterChanges,
  overlap,
  commands,
  fleetReplays,
}

export function checkAll(ended: EndedWorld): readonly Violation[] {
  return Object.entries(CHECKERS).flatMap(([checker, check]) =>
    [...check(ended)].map(message => ({ checker, message })),
  )
}
