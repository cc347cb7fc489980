import type { ErrorCode } from '../catalogue.ts'
import { again, type Classification, giveUp, isCategory } from '../classification.ts'
import { property, type Thrown } from '../thrown.ts'

const CLASSIFICATIONS: ReadonlyMap<string, Classification> = new Map<ErrorCode, Classification>([
  ['LAZARET_TIMEOUT', again('timeout', 'transient')],
  // An inner breaker has found its dependency failing, and the dependency also fails for the outer caller.
  ['LAZARET_BREAKER_OPEN', again('lazaret', 'transient')],
  ['LAZARET_RATE_LIMITED', again('own-limit', 'transient')],
  ['LAZARET_EVENT_INVALID', giveUp('lazaret', 'schema')],
  ['LAZARET_CLOUDEVENT_INVALID', giveUp('lazaret', 'schema')],
])

/**
 * Classifies Lazaret's own errors. A code without an entry follows the `retryable` of the error, and its `category` if it
 * has one.
 */
export function ownError({ code, value }: Thrown): Classification | undefined {
  if (!code?.startsWith('LAZARET_')) return undefined
  const listed = CLASSIFICATIONS.get(code)
  if (listed !== undefined) return listed
  const retryable = property(value, 'retryable')
  if (typeof retryable !== 'boolean') return undefined
  const category = property(value, 'category')
  if (retryable) return again('lazaret', isCategory(category) ? category : 'transient')
  return giveUp('lazaret', isCategory(category) ? category : 'business')
}
