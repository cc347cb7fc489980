import { again, type Category, type Classification, giveUp } from '../classification.ts'
import { httpStatusOf } from '../http.ts'
import type { Thrown } from '../thrown.ts'

const OVERLOADED_OR_AWAY = new Set([408, 425, 429, 502, 503, 504])
const CONTENT_REFUSED = new Set([400, 411, 413, 414, 415, 417, 422, 431])
const STATE_REFUSED = new Set([402, 404, 409, 410, 412, 416, 423, 424, 428])

const TRANSIENT = again('http-status', 'transient')
const BROKEN = again('http-status', 'integration')

/**
 * 408, 425, 429 and every 5xx may pass; any other 4xx will not. The same is true for 501 and 505: gateways answer so
 * while they restart, and a server that means it costs only the few attempts of the policy.
 */
export function httpStatus({ value }: Thrown): Classification | undefined {
  const status = httpStatusOf(value)
  return status === undefined ? undefined : classificationOfStatus(status)
}

/**
 * The meaning of an unsuccessful answer. A status below 400, such as a redirect, does not become a success on a retry.
 */
export function classificationOfStatus(status: number): Classification {
  if (OVERLOADED_OR_AWAY.has(status)) return TRANSIENT
  return status >= 500 ? BROKEN : giveUp('http-status', refusalOf(status))
}

/** A missing or conflicting thing is the domain's no; what is left (401, 403, 405 …) is a matter of set-up. */
function refusalOf(status: number): Category {
  if (CONTENT_REFUSED.has(status)) return 'schema'
  return STATE_REFUSED.has(status) ? 'business' : 'integration'
}
