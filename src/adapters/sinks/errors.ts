import type { Category } from '../../core/failure/classification.ts'
import { classify } from '../../core/failure/classify.ts'
import { LazaretError } from '../../core/failure/errors.ts'
import { PermanentError } from '../../core/failure/signals.ts'
import { classificationOfStatus } from '../../core/failure/tables/http-status.ts'

const MAX_QUOTE_LENGTH = 300

interface Refusal {
  /** The receiver, without credentials. */
  readonly subject: string
  /** The status of the request, or of one event in it. */
  readonly status: number
  /** The receiver's answer about it. */
  readonly said?: string | undefined
  /** The wait that it asked for. */
  readonly delayMs?: number | undefined
}

/** The receiver answered and refused the request. The status decides whether a retry can succeed. */
export class SinkRefusedError extends LazaretError {
  override readonly name = 'SinkRefusedError'
  readonly status: number
  readonly category: Category
  readonly delayMs: number | undefined

  constructor({ subject, status, said = '', delayMs }: Refusal) {
    const { retryable, category } = classificationOfStatus(status)
    super(`${subject}: answered ${status}${quoted(said)}; ${remedyFor(status)}`, {
      code: 'LAZARET_SINK_REFUSED',
      retryable,
    })
    this.status = status
    this.category = category
    this.delayMs = delayMs
  }
}

/** The receiver did not answer. It may still have accepted the request. */
export class SinkUnreachableError extends LazaretError {
  override readonly name = 'SinkUnreachableError'
  readonly category: Category

  constructor(subject: string, cause: unknown) {
    const { code, message, category } = classify(cause)
    // Codes of Node's HTTP parser, for an answer that is not HTTP.
    const known = category === 'integration' || code?.startsWith('HPE_') ? 'integration' : 'transient'
    // If several addresses were tried, the combined error has no message.
    super(`${subject}: ${message === '' ? (code ?? 'no answer') : message}; ${CONNECTION_REMEDY[known]}`, {
      code: 'LAZARET_SINK_UNREACHABLE',
      retryable: true,
      cause,
    })
    this.category = known
  }
}

/** Larger than the receiver accepts, so it is not sent. */
export class EventTooLargeError extends LazaretError {
  override readonly name = 'EventTooLargeError'

  constructor(subject: string, bytes: number, max: number, option: string) {
    super(
      `${subject}: the event has ${bytes} bytes and ${option} allows ${max}; send a smaller event, or raise ${option} and the receiver's limit`,
      {
        code: 'LAZARET_EVENT_INVALID',
        retryable: false,
      },
    )
  }
}

const CONNECTION_REMEDY = {
  transient: 'check that it runs and that this machine can reach it',
  integration: 'check that the address serves HTTP and that this process trusts its certificate',
}

/** The beginning of the receiver's answer, on one line, after a colon. */
export function quoted(said: string): string {
  const words = said.replace(/\s+/g, ' ').trim()
  if (words === '') return ''
  return `: ${words.length > MAX_QUOTE_LENGTH ? `${words.slice(0, MAX_QUOTE_LENGTH)}…` : words}`
}

function remedyFor(status: number): string {
  if (status < 400) return 'redirects are not followed; use the URL of the redirect target'
  if (status === 401 || status === 403) return 'check the credentials and their permissions'
  if (status === 404 || status === 405 || status === 410) return 'check the URL'
  if (status === 413) return 'send smaller events, or raise the limit of the receiver'
  if (status === 429) return 'send fewer events, or raise the rate limit of the receiver'
  return status < 500 ? 'fix the request' : 'check the receiving service'
}

/**
 * A function among the options of a sink threw for an event. It would throw again, and the error does not concern the
 * other events.
 */
export function optionFunctionError(subject: string, cause: unknown): PermanentError {
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new PermanentError(
    `${subject}: a function in the sink options threw for this event: ${reason}; fix it`,
    {
      cause,
      category: 'schema',
    },
  )
}
