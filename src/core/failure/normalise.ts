/** Messages are cut to this length before any pattern runs. They come from outside, and the time must stay bounded. */
const READ_MAX = 1_000
const KEPT_MAX = 200

const WORD = '[a-z0-9_]+(?:-[a-z0-9_]+)*'

/**
 * Patterns for the parts that vary, and their replacements; the first match counts. Every repetition is bounded, or its
 * characters cannot match the part that follows, so that no pattern backtracks far. None starts inside a word.
 */
const MASKS: readonly (readonly [pattern: string, mask: string | ((text: string) => string)])[] = [
  ['"[^"]*"|`[^`]*`|“[^“”]*”|‘[^‘’]*’|«[^«»]*»', '<value>'],
  // An apostrophe inside a word (can't, don't) does not open a quote.
  [String.raw`(?<!\w)'[^']*'(?!\w)`, '<value>'],
  [String.raw`\b[a-z][a-z0-9+.-]{1,15}:\/\/[^\s"'<>()]+`, maskUrl],
  [String.raw`(?<![\w.%+-])[\w.%+-]{1,64}@[a-z0-9.-]{1,100}`, '<email>'],
  ['\\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![\\w-])', '#'],
  [
    String.raw`\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?: ?Z|[+-]\d\d:?\d\d)?)?(?![\w-])`,
    '<time>',
  ],
  [String.raw`\b\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?![\w:])`, '<time>'],
  [
    String.raw`\b(?:Sun|Mon|Tue|Wed|Thu|Fri|Sat),? (?:[a-z]{3} \d\d|\d\d [a-z]{3}) \d{4} \d\d:\d\d:\d\d` +
      String.raw`(?: GMT(?:[+-]\d{4})?)?(?: \([^)]{1,60}\))?`,
    '<time>',
  ],
  [String.raw`(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?(?!\w|\.\d)`, '<address>'],
  [String.raw`\[?(?<![\w:])(?:[0-9a-f]{0,4}:){2,7}[0-9a-f]{0,4}(?![\w:])(?:\](?::\d{1,5})?)?`, '<address>'],
  [String.raw`\b[a-z]:\\[^\s"'<>|]+`, '<path>'],
  [String.raw`(?<![\w.~/])(?:~|\.{1,2})?(?:\/[\w.@%+~-]+){2,}\/?`, '<path>'],
  [String.raw`(?<!\w)[-+]?\d+(?:[.,]\d+)*(?:e[+-]?\d+)?(?![\w-])`, '#'],
  [String.raw`(?<!\w)(?=[a-z_-]{0,60}\d)${WORD}`, maskWord],
  [String.raw`(?<!\w)[a-f]{8,}(?!\w)`, '#'],
]

const VARIABLE = new RegExp(MASKS.map(([pattern]) => `(${pattern})`).join('|'), 'gi')
const ANY_WORD = new RegExp(WORD, 'gi')
/** A message without one of these characters has no varying part. Most messages have none. */
const MAY_VARY = /[\d"'`“‘«@/\\:]|[a-f]{8}/i

/** Replaces all parts that vary between occurrences, so that the rest identifies the cause. */
export function normalise(message: string): string {
  const read = message.slice(0, READ_MAX)
  const masked = MAY_VARY.test(read) ? read.replace(VARIABLE, maskMatch) : read
  return masked.replace(/\s+/g, ' ').trim().slice(0, KEPT_MAX).toWellFormed()
}

function maskMatch(text: string, ...groups: unknown[]): string {
  const mask = MASKS[groups.findIndex(group => group !== undefined)]![1]
  return typeof mask === 'string' ? mask : mask(text)
}

/** The host and the fixed parts of the path stay, because they identify the dependency. */
function maskUrl(url: string): string {
  const [address = ''] = url.split(/[?#]/, 1)
  const start = address.indexOf('://') + 3
  const [authority = ''] = address.slice(start).split('/', 1)
  const afterCredentials = start + authority.lastIndexOf('@') + 1
  return address.slice(0, start) + address.slice(afterCredentials).replace(ANY_WORD, maskWord)
}

/** A number with its unit. A longer sequence of digits is an id that ends like a unit. */
const MEASURE = /^\d{1,15}(?:ms|s|m|h|min|sec|kb|mb|gb|kib|mib|gib|st|nd|rd|th|xx)$/i

/** `order-123` and `v2` keep their letters. `cus_9s6XKzkNR` does not, because its letters are random too. */
function maskWord(word: string): string {
  return word.split(/[-_]/).some(isRandom) ? '#' : word.replace(/\d+/g, '#')
}

function isRandom(part: string): boolean {
  if (!/\d/.test(part) || !/[a-z]/i.test(part) || MEASURE.test(part)) return false
  return /^[0-9a-f]{6,}$/i.test(part) || !/^[a-z]+\d+$/i.test(part)
}
