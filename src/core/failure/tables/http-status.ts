import { again, type Category, type Classification, giveUp } from '../classification.ts'
import { httpStatusOf } from '../http.ts'
import type { Thrown } from '../thrown.ts'

const OVERLOADED_OR_AWAY = new Set([408, 425, 429, 502, 503, 504])
const CONTENT_REFUSED = new Set([400, 411, 413, 414, 415, 417, 422, 431])
const STATE_REFUSED = new Set([402, 404, 409, 410, 412, 416, 423, 424, 428])

const TRANSIENT = again('http-status', 'transient')
const BROKEN = again('http-status', 'integration')

/**
 * 408, 425, 429 and every 5xx are retryable; any other 4xx is permanent. 501 and 505 are retryable too: gateways send
 * them while they restart, and otherwise they cost only the few attempts of the policy.
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

/** A missing or conflicting object is a refusal by the domain. The others (401, 403, 405 …) come from the configuration. */
function refusalOf(status: number): Category {
  if (CONTENT_REFUSED.has(status)) return 'schema'
  return STATE_REFUSED.has(status) ? 'business' : 'integration'
}
