import type { CauseChain } from './chain.ts'
import { usableDelayMs } from './classification.ts'
import { httpHeaderOf } from './http.ts'
import { signalOf } from './signals.ts'
import { property, type Thrown } from './thrown.ts'

/** Returns the wait that the nearest error names, in its own field or in the Retry-After of its response. */
export function namedDelayMs(chain: CauseChain, now: number | undefined): number | undefined {
  for (const thrown of chain) {
    const delayMs = ownDelayMs(thrown, now) ?? parseRetryAfter(httpHeaderOf(thrown.value, 'Retry-After'), now)
    if (delayMs !== undefined) return delayMs
  }
  return undefined
}

function ownDelayMs(thrown: Thrown, now: number | undefined): number | undefined {
  if (!thrown.code?.startsWith('LAZARET_') && signalOf(thrown) === undefined) return undefined
  const retryAt = property(thrown.value, 'retryAt')
  if (typeof retryAt === 'number' && now !== undefined) return usableDelayMs(Math.max(0, retryAt - now))
  return usableDelayMs(property(thrown.value, 'delayMs'))
}

const SECONDS = /^\d{1,10}(?:\.\d{1,3})?$/
const HTTP_DATE_MAX = 40

/** Reads Retry-After: seconds, or a date of HTTP (RFC 9110, 10.2.3). A date in the past means no wait. */
export function parseRetryAfter(header: string | undefined, now: number | undefined): number | undefined {
  if (header === undefined || header.length > HTTP_DATE_MAX) return undefined
  const text = header.trim()
  if (SECONDS.test(text)) return Number(text) * 1_000
  // Other dates have no time zone, and Date.parse would use the zone of the machine.
  if (now === undefined || !text.endsWith(' GMT')) return undefined
  const at = Date.parse(text)
  return Number.isNaN(at) ? undefined : Math.max(0, at - now)
}
