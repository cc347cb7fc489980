import { classify } from '../../core/failure/classify.ts'
import type { LazaretError } from '../../core/failure/errors.ts'
import { PermanentError, RetryAfterError, TransientError } from '../../core/failure/signals.ts'
import type { Category } from '../../core/failure/verdict.ts'

export interface RefusalDetail {
  /** What the server asks to be waited. */
  readonly delayMs?: number | undefined
  /** What it said, shortened before it is shown. */
  readonly said?: string | undefined
}

const SAID_MAX = 200

/** The error for an answer that is no success; whether it is worth another attempt goes by its status. */
export function refusal(
  subject: string,
  status: number,
  { delayMs, said }: RefusalDetail = {},
): LazaretError {
  // A redirect is none of the statuses of a failure, but following it is not what these protocols allow.
  const { retryable, category } = status < 400 ? NOT_THERE : classify({ status })
  const words = said === undefined || said === '' ? '' : ` (${said.slice(0, SAID_MAX).toWellFormed()})`
  const message = `${subject}: answered ${status}${words}; ${remedyFor(status, category)}`
  if (!retryable) return new PermanentError(message, { category })
  return delayMs === undefined
    ? new TransientError(message, { category })
    : new RetryAfterError(message, { category, delayMs })
}

const NOT_THERE = { retryable: false, category: 'integration' } as const

function remedyFor(status: number, category: Category): string {
  if (status === 401 || status === 403) return 'check the credentials'
  if (status === 413) return 'send smaller events or batches'
  if (status === 429) return 'send less, or wait'
  if (status === 404 || status < 400) return 'check the URL'
  return category === 'schema' ? 'see what it does not take' : 'see how the server is'
}
