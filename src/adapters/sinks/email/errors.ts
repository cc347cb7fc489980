import type { Category } from '../../../core/failure/classification.ts'
import { LazaretError } from '../../../core/failure/errors.ts'
import { quoted, SinkUnreachableError } from '../errors.ts'

const PERMANENT = 500

/** A mail server refused a mail. A 4xx reply is temporary, a 5xx reply is permanent (RFC 5321, 4.2.1). */
export class MailRefusedError extends LazaretError {
  override readonly name = 'MailRefusedError'
  /** The reply code of the mail server; undefined when the mail was not even offered to it. */
  readonly replyCode: number | undefined
  readonly category: Category

  constructor(subject: string, replyCode: number | undefined, said: string) {
    const isForGood = replyCode === undefined || replyCode >= PERMANENT
    const answered = replyCode === undefined ? 'cannot be sent' : `answered ${replyCode}`
    super(`${subject}: ${answered}${quoted(said)}; ${remedyFor(replyCode)}`, {
      code: 'LAZARET_SINK_REFUSED',
      retryable: !isForGood,
    })
    this.replyCode = replyCode
    this.category = categoryOf(replyCode)
  }
}

/** Replies about authentication. 530, 534, 535 and 538 come from RFC 4954. */
const ACCESS: ReadonlySet<number> = new Set([454, 530, 534, 535, 538])
/** Replies about a mailbox. */
const MAILBOX: ReadonlySet<number> = new Set([550, 551, 553])

function categoryOf(replyCode: number | undefined): Category {
  if (replyCode === undefined) return 'schema'
  if (ACCESS.has(replyCode)) return 'integration'
  if (replyCode < PERMANENT) return 'transient'
  return MAILBOX.has(replyCode) ? 'business' : 'integration'
}

function remedyFor(replyCode: number | undefined): string {
  if (replyCode === undefined) return 'check the addresses'
  if (ACCESS.has(replyCode)) return 'check the user and password of the mail server'
  if (MAILBOX.has(replyCode)) return 'check the addresses, and that the mail server relays for them'
  return replyCode < PERMANENT ? 'try again later' : 'check the log of the mail server'
}

/** The error of nodemailer: with the reply of the server, or with its own code. */
interface MailFailure {
  readonly responseCode?: unknown
  readonly response?: unknown
  readonly code?: unknown
  readonly message?: unknown
}

/** Codes of nodemailer for a mail that no server would accept. */
const UNSENDABLE: ReadonlySet<unknown> = new Set(['EENVELOPE', 'EMESSAGE', 'EMAXRECIPIENTS', 'ECONFIG'])

/** The original error is not kept as the cause, because the reply of a server may quote the mail. */
export function mailError(subject: string, thrown: unknown, mask: (text: string) => string): LazaretError {
  const { responseCode, response, code, message } = (thrown ?? {}) as MailFailure
  if (typeof responseCode === 'number') {
    const said = typeof response === 'string' ? response.replace(/^\d{3}[ -]/, '') : ''
    return new MailRefusedError(subject, responseCode, mask(said))
  }
  const said = mask(typeof message === 'string' ? message : String(thrown))
  if (UNSENDABLE.has(code)) return new MailRefusedError(subject, undefined, said)
  const lost = Object.assign(new Error(said), typeof code === 'string' ? { code } : {})
  return new SinkUnreachableError(subject, lost)
}
