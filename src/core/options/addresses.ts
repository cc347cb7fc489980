// Rules for texts that say where something is sent, for sinks and for the config file alike. Most of these texts carry a
// secret, such as the password in a URL, so a fault does not show what was given.
import { custom, eitherForm, list, type Rule } from './rules.ts'

/** A text of a certain form. Errors do not show the given value. */
export function hiddenText(isRight: (text: string) => boolean, remedy: string): Rule<string> {
  return {
    form: { kind: 'text' },
    read(value, path, faults) {
      if (typeof value === 'string' && isRight(value)) return value
      faults.addHidden(path, value, remedy)
      return ''
    },
  }
}

export function httpAddress(example: string): Rule<string> {
  const isRight = (text: string) => /^https?:\/\//i.test(text) && URL.canParse(text)
  return hiddenText(isRight, `give a URL such as '${example}'`)
}

/** A mail server, with the user and password it lets in. */
export const smtpAddress = hiddenText(
  text => /^smtps?:\/\/[^/]/i.test(text) && URL.canParse(text),
  "give a URL such as 'smtp://user:password@mail.example:587'",
)

export const pagerdutyRoutingKey = hiddenText(
  text => /^[\w-]{32}$/.test(text),
  'give the 32 characters of the integration key (Events API v2) of a service',
)

const DSN = /^https?:\/\/[^@/:\s]+(?::[^@/\s]*)?@[^@/\s]+\/(?:[^@\s]+\/)?\d+$/

export const sentryDsn = custom(
  (value): value is string => typeof value === 'string' && DSN.test(value),
  'give a DSN such as https://key@o1.ingest.sentry.io/2',
  { kind: 'text', pattern: DSN },
)

/** One address, with or without a name; nothing that could begin another header or another address. */
const MAIL_ADDRESS =
  /^(?:[^<>,;:"\p{Cc}]{0,200}<[^\s<>@,;:"\p{Cc}]+@[^\s<>@,;:"\p{Cc}]+>|[^\s<>@,;:"\p{Cc}]+@[^\s<>@,;:"\p{Cc}]+)$/u

export const mailAddress = custom(
  (value): value is string =>
    typeof value === 'string' && value.length <= 500 && MAIL_ADDRESS.test(value.trim()),
  "give one address, such as 'alerts@shop.example' or 'Shop <alerts@shop.example>'",
  { kind: 'text', maxLength: 500 },
)

const severalAddresses = list(mailAddress, { minItems: 1, maxItems: 100 })

/** One address, or a list of them. */
export const mailAddresses: Rule<readonly string[]> = {
  form: eitherForm(mailAddress.form, severalAddresses.form),
  read(value, path, faults) {
    if (!Array.isArray(value)) return [mailAddress.read(value, path, faults)]
    return severalAddresses.read(value, path, faults)
  },
}

const SUBJECT_PREFIX = /^[^\p{Cc}]{0,100}$/u

export const subjectPrefix = custom(
  (value): value is string => typeof value === 'string' && SUBJECT_PREFIX.test(value),
  'give a line of at most 100 characters',
  { kind: 'text', pattern: SUBJECT_PREFIX },
)
