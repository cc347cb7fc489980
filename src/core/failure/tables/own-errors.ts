import type { ErrorCode } from '../catalogue.ts'
import { property, type Thrown } from '../thrown.ts'
import { again, giveUp, type Verdict } from '../verdict.ts'

const VERDICTS: ReadonlyMap<string, Verdict> = new Map<ErrorCode, Verdict>([
  ['LAZARET_TIMEOUT', again('timeout', 'transient')],
  // A breaker further down has found its dependency sick, and so it is for whoever called through it.
  ['LAZARET_BREAKER_OPEN', again('lazaret', 'transient')],
  ['LAZARET_RATE_LIMITED', again('own-limit', 'transient')],
  ['LAZARET_RETRY_LIMITED', again('own-limit', 'transient')],
  ['LAZARET_EVENT_INVALID', giveUp('lazaret', 'schema')],
  ['LAZARET_CLOUDEVENT_INVALID', giveUp('lazaret', 'schema')],
])

const MAY_HELP = again('lazaret', 'transient')
const CANNOT_HELP = giveUp('lazaret', 'business')

/** Lazaret's own errors. A code without an entry goes by the `retryable` that every one of them carries. */
export function ownError({ code, value }: Thrown): Verdict | undefined {
  if (!code?.startsWith('LAZARET_')) return undefined
  const listed = VERDICTS.get(code)
  if (listed !== undefined) return listed
  const retryable = property(value, 'retryable')
  return typeof retryable === 'boolean' ? (retryable ? MAY_HELP : CANNOT_HELP) : undefined
}
