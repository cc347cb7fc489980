import { type Resolved, resolveOptions } from '../../../core/options/resolve.ts'
import { list, milliseconds, optional, type Rule, that, withDefault } from '../../../core/options/rules.ts'
import type { MailTransport } from './transport.ts'

export const DEFAULT_SMTP_TIMEOUT_MS = 10_000
const DAY_MS = 86_400_000

export interface EmailOptions {
  /** Of the mail server: `smtp://user:password@host:587`, or `smtps://` for TLS from the start. Needs `nodemailer`. */
  readonly url?: string | undefined
  /** Or a transport of your own, such as `nodemailer.createTransport(…)`. It is not closed. */
  readonly transport?: MailTransport | undefined
  /** `alerts@shop.example`, or `Shop alerts <alerts@shop.example>`. */
  readonly from: string
  readonly to: string | readonly string[]
  /** Put in front of every subject ['[Lazaret]']. */
  readonly subjectPrefix?: string | undefined
  /** With `url`: how long the mail server may take for each step [10 s]. */
  readonly timeoutMs?: number | undefined
}

/** One address, with or without a name; nothing that could begin another header or another address. */
const ADDRESS =
  /^(?:[^<>,;:"\p{Cc}]{0,200}<[^\s<>@,;:"\p{Cc}]+@[^\s<>@,;:"\p{Cc}]+>|[^\s<>@,;:"\p{Cc}]+@[^\s<>@,;:"\p{Cc}]+)$/u

const address = that(
  (value): value is string => typeof value === 'string' && value.length <= 500 && ADDRESS.test(value.trim()),
  "give one address, such as 'alerts@shop.example' or 'Shop <alerts@shop.example>'",
)

const addresses: Rule<readonly string[]> = {
  read(value, path, faults) {
    if (!Array.isArray(value)) return [address.read(value, path, faults)]
    return list(address, { minItems: 1, maxItems: 100 }).read(value, path, faults)
  },
}

/** What was given is not shown: it is where the password is. */
const smtpUrl: Rule<URL> = {
  read(value, path, faults) {
    if (typeof value === 'string' && /^smtps?:\/\/[^/]/i.test(value) && URL.canParse(value))
      return new URL(value)
    const received = typeof value === 'string' ? 'a text that is not shown' : typeof value
    const remedy = "give a URL such as 'smtp://user:password@mail.example:587'"
    faults.list.push({ path, received, remedy })
    return new URL('smtp://localhost')
  },
}

const PLAIN_LINE = /^[^\p{Cc}]{0,100}$/u

const rules = {
  url: optional(smtpUrl),
  transport: optional(
    that(
      (value): value is MailTransport =>
        typeof (value as Partial<MailTransport> | null)?.sendMail === 'function',
      'give a transport with sendMail(), such as nodemailer.createTransport(…)',
    ),
  ),
  from: address,
  to: addresses,
  subjectPrefix: withDefault(
    that(
      (value): value is string => typeof value === 'string' && PLAIN_LINE.test(value),
      'give a line of at most 100 characters',
    ),
    '[Lazaret]',
  ),
  timeoutMs: withDefault(milliseconds({ min: 1, max: DAY_MS }), DEFAULT_SMTP_TIMEOUT_MS),
}

type EmailSettings = Resolved<typeof rules>

export function resolveEmail(options: EmailOptions): EmailSettings {
  return resolveOptions('email', rules, options, ({ url, transport }, fault) => {
    if ((url === undefined) === (transport === undefined)) fault('transport', 'give either url or transport')
  })
}
