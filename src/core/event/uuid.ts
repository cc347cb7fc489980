import type { Random } from '../random.ts'

/**
 * Character codes of the hex digits. The whole text is made from codes: V8 keeps a prefix and a rest as two parts, and has
 * to join them when the id is first used as the key of a Map.
 */
const DIGIT = Uint8Array.from('0123456789abcdef', digit => digit.charCodeAt(0))
const HYPHEN = '-'.charCodeAt(0)
const COUNTER_MAX = 0xfff
/**
 * Each new millisecond starts in the lower half of the counter, so that at least 2048 ids fit before the counter
 * overflows.
 */
const COUNTER_SEEDS = 0x800
const TWO_TO_32 = 2 ** 32

/**
 * The end of the year 9999. A later clock is ignored, so that the 48 bits of time have room for every overflow of the
 * counter.
 */
export const MAX_TIME_MS = 253_402_300_799_999

export type IdSource = (nowMs: number) => string

/**
 * UUIDv7 (RFC 9562), method 1: `rand_a` is a counter with a new random start in each millisecond. Ids of one source sort
 * as texts in the order of their creation, within one millisecond and after the clock steps back too: then the time stays
 * and the counter continues. When the counter overflows, the time moves one millisecond ahead.
 */
export function createIdSource(random: Random): IdSource {
  let lastMs = 0
  let counter = seed(random)
  let prefix = timePrefix(lastMs)
  return nowMs => {
    const wholeMs = Math.floor(nowMs)
    if (wholeMs > lastMs && wholeMs <= MAX_TIME_MS) {
      lastMs = wholeMs
      counter = seed(random)
      prefix = timePrefix(lastMs)
    } else if (counter < COUNTER_MAX) {
      counter++
    } else {
      lastMs++
      counter = seed(random)
      prefix = timePrefix(lastMs)
    }
    return textOf(prefix, counter, (random() * TWO_TO_32) >>> 0, (random() * TWO_TO_32) >>> 0)
  }
}

/** The prefix, 12 bits of the counter, the variant, and 62 random bits: 30 from `high` and 32 from `low`. */
function textOf(prefix: Uint8Array, counter: number, high: number, low: number): string {
  return String.fromCharCode(
    prefix[0]!,
    prefix[1]!,
    prefix[2]!,
    prefix[3]!,
    prefix[4]!,
    prefix[5]!,
    prefix[6]!,
    prefix[7]!,
    prefix[8]!,
    prefix[9]!,
    prefix[10]!,
    prefix[11]!,
    prefix[12]!,
    prefix[13]!,
    prefix[14]!,
    DIGIT[counter >>> 8]!,
    DIGIT[(counter >>> 4) & 15]!,
    DIGIT[counter & 15]!,
    HYPHEN,
    DIGIT[8 | (high >>> 30)]!,
    DIGIT[(high >>> 26) & 15]!,
    DIGIT[(high >>> 22) & 15]!,
    DIGIT[(high >>> 18) & 15]!,
    HYPHEN,
    DIGIT[(high >>> 14) & 15]!,
    DIGIT[(high >>> 10) & 15]!,
    DIGIT[(high >>> 6) & 15]!,
    DIGIT[(high >>> 2) & 15]!,
    DIGIT[low >>> 28]!,
    DIGIT[(low >>> 24) & 15]!,
    DIGIT[(low >>> 20) & 15]!,
    DIGIT[(low >>> 16) & 15]!,
    DIGIT[(low >>> 12) & 15]!,
    DIGIT[(low >>> 8) & 15]!,
    DIGIT[(low >>> 4) & 15]!,
    DIGIT[low & 15]!,
  )
}

function seed(random: Random): number {
  return Math.floor(random() * COUNTER_SEEDS)
}

/** The 48 bits of time and the version, with their hyphens, as character codes. */
function timePrefix(ms: number): Uint8Array {
  const hex = ms.toString(16).padStart(12, '0')
  return Uint8Array.from(`${hex.slice(0, 8)}-${hex.slice(8)}-7`, digit => digit.charCodeAt(0))
}

const UUIDV7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i

export function isUuidv7(id: string): boolean {
  return UUIDV7.test(id)
}

/** The creation time of a UUIDv7 in epoch milliseconds; undefined for any other text. */
export function uuidv7Time(id: string): number | undefined {
  return isUuidv7(id) ? Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16) : undefined
}
