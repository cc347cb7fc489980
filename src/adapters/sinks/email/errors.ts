import type { Category } from '../../../core/failure/classification.ts'
import { LazaretError } from '../../../core/failure/errors.ts'
import { quoted, SinkUnreachableError } from '../errors.ts'

const PERMANENT = 500

/** A mail server answered that it does not take a mail. Its 4xx is for now, its 5xx for good (RFC 5321, 4.2.1). */
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

/** Replies about who is let in; 530, 534, 535 and 538 are those of RFC 4954. */
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

/** What nodemailer throws: with the reply of the server if there was one, else with a code of its own. */
interface MailFailure {
  readonly responseCode?: unknown
  readonly response?: unknown
  readonly code?: unknown
  readonly message?: unknown
}

/** Of nodemailer: the mail itself cannot be sent, to this server or any other. */
const UNSENDABLE: ReadonlySet<unknown> = new Set(['EENVELOPE', 'EMESSAGE', 'EMAXRECIPIENTS', 'ECONFIG'])

/** The original is not kept as the cause: what a server says may quote what it was told. */
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
