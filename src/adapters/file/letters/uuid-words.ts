// Letter ids are UUIDs, and a million of them as texts would take 60 MB. As four numbers each they take 16.

export const WORDS = 4
const TEXT_LENGTH = 36
/** Where the eight digits of each word stand in the text; the hyphens lie between. */
const DIGITS = [
  [0, 1, 2, 3, 4, 5, 6, 7],
  [9, 10, 11, 12, 14, 15, 16, 17],
  [19, 20, 21, 22, 24, 25, 26, 27],
  [28, 29, 30, 31, 32, 33, 34, 35],
] as const
const HYPHENS = [8, 13, 18, 23] as const
const HYPHEN = 45

/** False when it is no UUID in small letters: then its words would not give the same text back. */
export function writeUuid(id: string, into: Uint32Array, at: number): boolean {
  if (id.length !== TEXT_LENGTH) return false
  for (const place of HYPHENS) if (id.charCodeAt(place) !== HYPHEN) return false
  for (let word = 0; word < WORDS; word++) {
    let value = 0
    for (const place of DIGITS[word]!) {
      const digit = digitOf(id.charCodeAt(place))
      if (digit === -1) return false
      value = (value << 4) | digit
    }
    into[at + word] = value
  }
  return true
}

export function readUuid(from: Uint32Array, at: number): string {
  let digits = ''
  for (let word = 0; word < WORDS; word++) digits += from[at + word]!.toString(16).padStart(8, '0')
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-${digits.slice(12, 16)}-${digits.slice(16, 20)}-${digits.slice(20)}`
}

function digitOf(code: number): number {
  if (code >= 48 && code <= 57) return code - 48
  return code >= 97 && code <= 102 ? code - 87 : -1
}
