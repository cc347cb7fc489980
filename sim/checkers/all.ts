import { attempts } from './attempts.ts'
import { authority } from './authority.ts'
import { books } from './books.ts'
import { breaker } from './breaker.ts'
import type { Checker, Ended, Violation } from './checker.ts'
import { followUps } from './follow-ups.ts'
import { lanes } from './lanes.ts'
import { leftovers } from './leftovers.ts'
import { letters } from './letters.ts'
import { once } from './once.ts'
import { order } from './order.ts'
import { overlap } from './overlap.ts'
import { pace } from './pace.ts'
import { places } from './places.ts'
import { poison } from './poison.ts'
import { rest } from './rest.ts'
import { sinks } from './sinks.ts'
import { success } from './success.ts'

const CHECKERS: { readonly [name: string]: Checker } = {
  rest,
  places,
  success,
  once,
  attempts,
  books,
  order,
  poison,
  pace,
  breaker,
  letters,
  sinks,
  lanes,
  leftovers,
  'follow-ups': followUps,
  authority,
  overlap,
}

export function checkAll(ended: Ended): readonly Violation[] {
  return Object.entries(CHECKERS).flatMap(([checker, check]) =>
    [...check(ended)].map(told => ({ checker, told })),
  )
}
