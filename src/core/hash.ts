/**
 * MurmurHash3 (x86, 128 bit) of a text's UTF-16 code units, as 32 hex digits. Its result must never change:
 * fingerprints and letter ids are stored with it. Not cryptographic, and nothing here relies on it being so. Its four
 * lanes are variables and not an array: every failure is hashed, and so it takes half of the time.
 */
export function hash128(text: string): string {
  let a = 0
  let b = 0
  let c = 0
  let d = 0
  const tail = text.length & ~7
  for (let at = 0; at < tail; at += 8) {
    a = (Math.imul((rotate(a ^ scramble(pair(text, at), C1, 15, C2), 19) + b) | 0, 5) + 0x561ccd1b) | 0
    b = (Math.imul((rotate(b ^ scramble(pair(text, at + 2), C2, 16, C3), 17) + c) | 0, 5) + 0x0bcaa747) | 0
    c = (Math.imul((rotate(c ^ scramble(pair(text, at + 4), C3, 17, C4), 15) + d) | 0, 5) + 0x96cd1c35) | 0
    d = (Math.imul((rotate(d ^ scramble(pair(text, at + 6), C4, 18, C1), 13) + a) | 0, 5) + 0x32ac3b17) | 0
  }
  const length = text.length * 2
  a ^= scramble(pair(text, tail), C1, 15, C2) ^ length
  b ^= scramble(pair(text, tail + 2), C2, 16, C3) ^ length
  c ^= scramble(pair(text, tail + 4), C3, 17, C4) ^ length
  d ^= scramble(pair(text, tail + 6), C4, 18, C1) ^ length
  a = (a + b + c + d) | 0
  const [e, f, g] = [avalanche((b + a) | 0), avalanche((c + a) | 0), avalanche((d + a) | 0)]
  a = (avalanche(a) + e + f + g) | 0
  return hexOf(a, (e + a) | 0, (f + a) | 0, (g + a) | 0)
}

const C1 = 0x239b961b
const C2 = 0xab0e9789 | 0
const C3 = 0x38b34ae5
const C4 = 0xa1e38b93 | 0

/** Two code units as one 32-bit word; past the end counts as zero. */
function pair(text: string, at: number): number {
  return text.charCodeAt(at) | 0 | ((text.charCodeAt(at + 1) | 0) << 16)
}

function scramble(word: number, before: number, bits: number, after: number): number {
  return Math.imul(rotate(Math.imul(word, before), bits), after)
}

function rotate(word: number, bits: number): number {
  return (word << bits) | (word >>> (32 - bits))
}

function avalanche(word: number): number {
  let h = word
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return h ^ (h >>> 16)
}

/** Character codes of the hex digits. */
const DIGIT = Uint8Array.from('0123456789abcdef', digit => digit.charCodeAt(0))

/** All digits at once: four texts of eight digits, padded and joined, would take three times as long as the hash. */
function hexOf(a: number, b: number, c: number, d: number): string {
  return String.fromCharCode(
    DIGIT[a >>> 28]!,
    DIGIT[(a >>> 24) & 15]!,
    DIGIT[(a >>> 20) & 15]!,
    DIGIT[(a >>> 16) & 15]!,
    DIGIT[(a >>> 12) & 15]!,
    DIGIT[(a >>> 8) & 15]!,
    DIGIT[(a >>> 4) & 15]!,
    DIGIT[a & 15]!,
    DIGIT[b >>> 28]!,
    DIGIT[(b >>> 24) & 15]!,
    DIGIT[(b >>> 20) & 15]!,
    DIGIT[(b >>> 16) & 15]!,
    DIGIT[(b >>> 12) & 15]!,
    DIGIT[(b >>> 8) & 15]!,
    DIGIT[(b >>> 4) & 15]!,
    DIGIT[b & 15]!,
    DIGIT[c >>> 28]!,
    DIGIT[(c >>> 24) & 15]!,
    DIGIT[(c >>> 20) & 15]!,
    DIGIT[(c >>> 16) & 15]!,
    DIGIT[(c >>> 12) & 15]!,
    DIGIT[(c >>> 8) & 15]!,
    DIGIT[(c >>> 4) & 15]!,
    DIGIT[c & 15]!,
    DIGIT[d >>> 28]!,
    DIGIT[(d >>> 24) & 15]!,
    DIGIT[(d >>> 20) & 15]!,
    DIGIT[(d >>> 16) & 15]!,
    DIGIT[(d >>> 12) & 15]!,
    DIGIT[(d >>> 8) & 15]!,
    DIGIT[(d >>> 4) & 15]!,
    DIGIT[d & 15]!,
  )
}
