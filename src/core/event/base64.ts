const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
const CODES = Uint8Array.from(ALPHABET, digit => digit.charCodeAt(0))
const PAD = '='.charCodeAt(0)
const NOT_A_DIGIT = 255
const DIGITS = new Uint8Array(128).fill(NOT_A_DIGIT)
for (let value = 0; value < 64; value++) DIGITS[CODES[value]!] = value

/** The chunk is small enough to pass as arguments of one call without exhausting the stack. */
const CHUNK = 8_192

export function encodeBase64(bytes: Uint8Array): string {
  const codes = new Uint8Array(Math.ceil(bytes.length / 3) * 4)
  let out = 0
  for (let at = 0; at < bytes.length; at += 3) {
    const left = bytes.length - at
    const word = (bytes[at]! << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0)
    codes[out++] = CODES[word >>> 18]!
    codes[out++] = CODES[(word >>> 12) & 63]!
    codes[out++] = left > 1 ? CODES[(word >>> 6) & 63]! : PAD
    codes[out++] = left > 2 ? CODES[word & 63]! : PAD
  }
  let text = ''
  for (let at = 0; at < codes.length; at += CHUNK) {
    // `apply` accepts every array-like value, but its type requires an array.
    text += String.fromCharCode.apply(null, codes.subarray(at, at + CHUNK) as unknown as number[])
  }
  return text
}

/**
 * Decodes base64, or returns undefined if `encodeBase64` would not write exactly this text: foreign characters, missing
 * padding, stray bits. Decoding is strict, so that encoding the result gives the received text.
 */
export function decodeBase64(text: string): Uint8Array | undefined {
  if (text.length % 4 !== 0) return undefined
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0
  const digits = text.length - padding
  const bytes = new Uint8Array((text.length / 4) * 3 - padding)
  let word = 0
  let out = 0
  for (let at = 0; at < digits; at++) {
    const digit = DIGITS[text.charCodeAt(at)] ?? NOT_A_DIGIT
    if (digit === NOT_A_DIGIT) return undefined
    word = (word << 6) | digit
    if ((at & 3) === 3) {
      bytes[out++] = word >>> 16
      bytes[out++] = word >>> 8
      bytes[out++] = word
      word = 0
    }
  }
  if (padding === 1) {
    if ((word & 0b11) !== 0) return undefined
    bytes[out++] = word >>> 10
    bytes[out] = word >>> 2
  } else if (padding === 2) {
    if ((word & 0b1111) !== 0) return undefined
    bytes[out] = word >>> 4
  }
  return bytes
}
