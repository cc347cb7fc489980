export const MASK = '***'

/**
 * Secrets that have a typical form. Every expression takes linear time: each repetition is bounded, or starts only where
 * no earlier match attempt has been.
 */
const BEARER = /\b(bearer|basic)\s{1,8}[\w.~+/=-]{6,}/gi
const JSON_WEB_TOKEN = /(?<![\w-])eyJ[\w-]{5,}\.[\w-]{5,}(?:\.[\w-]*)?/g
const EMAIL = /(?<![\p{L}\p{N}._%+-])[\p{L}\p{N}._%+-]+@[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)*/gu
const WHOLE_LINE = /(authorization|cookie)([\\"']{0,4}\s{0,4}[:=]\s{0,4}[\\"']{0,4})[^\\"'\r\n]+/gi
const ASSIGNED =
  /(password|passwd|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|signature)([\\"']{0,4}\s{0,4}[:=]\s{0,4})(?:\\?"[^"\r\n]*"?|\\?'[^'\r\n]*'?|[^\s"'&,;}\\]+)/gi

/** Every secret below contains one of these. Most texts contain none, and are returned without a search. */
const SUSPECT = /[@:=\s]|eyJ|\d[ -]?\d/

export function maskSecrets(text: string): string {
  if (!SUSPECT.test(text)) return text
  const masked = text
    .replace(/\S+/g, hideUser)
    .replace(BEARER, `$1 ${MASK}`)
    .replace(JSON_WEB_TOKEN, MASK)
    .replace(WHOLE_LINE, `$1$2${MASK}`)
    .replace(ASSIGNED, `$1$2${MASK}`)
    .replace(EMAIL, MASK)
  return maskCards(masked)
}

/** Digits after a plus sign, in groups or not: `+49 170 1234567`. Without the plus sign nothing tells a phone from an order. */
const PHONE = /(?<![\p{L}\p{N}+])\+[1-9](?:[ ().-]{0,2}\d){7,14}(?![\p{L}\p{N}])/gu

export function maskPhones(text: string): string {
  return text.includes('+') ? text.replace(PHONE, MASK) : text
}

/** `scheme://user:password@host`. The password ends at the last @ of the word, because it may contain any character. */
function hideUser(word: string): string {
  const user = word.indexOf('://') + 3
  const host = word.lastIndexOf('@')
  return user > 2 && host >= user ? `${word.slice(0, user)}${MASK}${word.slice(host)}` : word
}

const DIGIT_GROUPS = /(?<!\d)\d(?:[ -]?\d){12,}/g
const CARD_DIGITS_MIN = 14
const CARD_DIGITS_MAX = 19

/** Masks card numbers, alone or beside other numbers, with or without spaces. */
function maskCards(text: string): string {
  return text.replace(DIGIT_GROUPS, maskCardsAmong)
}

function maskCardsAmong(run: string): string {
  const parts = run.split(/([ -])/)
  let masked = ''
  for (let at = 0; at < parts.length; ) {
    const end = cardEnd(parts, at)
    masked += end === undefined ? parts[at]! : MASK
    at = (end ?? at) + 2
    if (at < parts.length) masked += parts[at - 1]!
  }
  return masked
}

/** Returns the index of the last digit group of the longest card number that begins at `start`. */
function cardEnd(parts: readonly string[], start: number): number | undefined {
  let digits = ''
  let found: number | undefined
  for (let end = start; end < parts.length; end += 2) {
    digits += parts[end]!
    if (digits.length > CARD_DIGITS_MAX) break
    if (digits.length >= CARD_DIGITS_MIN && isCard(digits)) found = end
  }
  return found
}

/** Card numbers begin with 2 to 6, and end with a Luhn check digit. Times in microseconds begin with 1. */
function isCard(digits: string): boolean {
  if (!/^[2-6]/.test(digits)) return false
  let sum = 0
  for (let fromEnd = 0; fromEnd < digits.length; fromEnd++) {
    const digit = digits.charCodeAt(digits.length - 1 - fromEnd) - 48
    const weighted = fromEnd % 2 === 0 ? digit : digit * 2
    sum += weighted > 9 ? weighted - 9 : weighted
  }
  return sum % 10 === 0
}
