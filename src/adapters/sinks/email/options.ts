import { mailAddress, mailAddresses, smtpAddress, subjectPrefix } from '../../../core/options/addresses.ts'
import { type Resolved, resolveOptions } from '../../../core/options/resolve.ts'
import { derived, having, milliseconds, optional, withDefault } from '../../../core/options/rules.ts'
import type { MailTransport } from './transport.ts'

/** The default of the option `timeoutMs`. */
export const DEFAULT_SMTP_TIMEOUT_MS = 10_000
const DAY_MS = 86_400_000

/** Options of `email()`. */
export interface EmailOptions {
  /**
   * The mail server: `smtp://user:password@host:587`, or `smtps://` for TLS from the start [none: `transport` is
   * used]. It needs `nodemailer`.
   */
  readonly url?: string | undefined
  /**
   * Your own transport, such as `nodemailer.createTransport(…)` [none: `url` is used]. The sink does not close it.
   */
  readonly transport?: MailTransport | undefined
  /** `alerts@shop.example`, or `Shop alerts <alerts@shop.example>`. */
  readonly from: string
  /** The address or addresses that receive the mail. */
  readonly to: string | readonly string[]
  /** Put in front of every subject ['[Lazaret]']. */
  readonly subjectPrefix?: string | undefined
  /** With `url`: how long the mail server may take for each step [10 s]. */
  readonly timeoutMs?: number | undefined
}

const rules = {
  url: optional(derived(smtpAddress, address => new URL(address))),
  transport: optional(
    having<MailTransport>(
      'give a transport with sendMail(), such as nodemailer.createTransport(…)',
      'sendMail',
    ),
  ),
  from: mailAddress,
  to: mailAddresses,
  subjectPrefix: withDefault(subjectPrefix, '[Lazaret]'),
  timeoutMs: withDefault(milliseconds({ min: 1, max: DAY_MS }), DEFAULT_SMTP_TIMEOUT_MS),
}

type EmailSettings = Resolved<typeof rules>

export function resolveEmail(options: EmailOptions): EmailSettings {
  return resolveOptions('email', rules, options, ({ url, transport }, fault) => {
    if ((url === undefined) === (transport === undefined)) fault('transport', 'give either url or transport')
  })
}
