/**
 * MurmurHash3 (x86, 128 bit) of a text's UTF-16 code units, as 32 hex digits. Stable for ever: fingerprints and
 * letter ids are stored with it. Not cryptographic, and nothing here relies on it being so.
 */
export function hash128(text: string): string {
  const lanes = new Uint32Array(4)
  const blocks = text.length >> 3
  for (let block = 0; block < blocks; block++) mixBlock(lanes, text, block * 8)
  mixTail(lanes, text, blocks * 8)
  finish(lanes, text.length * 2)
  return Array.from(lanes, lane => lane.toString(16).padStart(8, '0')).join('')
}

const C = [0x239b961b, 0xab0e9789, 0x38b34ae5, 0xa1e38b93] as const
const ROTATE_KEY = [15, 16, 17, 18] as const
const ROTATE_LANE = [19, 17, 15, 13] as const
const ADD = [0x561ccd1b, 0x0bcaa747, 0x96cd1c35, 0x32ac3b17] as const

function mixBlock(h: Uint32Array, text: string, at: number): void {
  for (let lane = 0; lane < 4; lane++) {
    h[lane]! ^= scramble(pair(text, at + lane * 2), lane)
    h[lane] = Math.imul(rotate(h[lane]!, ROTATE_LANE[lane]!) + h[(lane + 1) & 3]!, 5) + ADD[lane]!
  }
}

function mixTail(h: Uint32Array, text: string, at: number): void {
  for (let lane = 0; lane < 4; lane++) h[lane]! ^= scramble(pair(text, at + lane * 2), lane)
}

function finish(h: Uint32Array, length: number): void {
  for (let lane = 0; lane < 4; lane++) h[lane]! ^= length
  spread(h)
  for (let lane = 0; lane < 4; lane++) h[lane] = avalanche(h[lane]!)
  spread(h)
}

function spread(h: Uint32Array): void {
  h[0] = h[0]! + h[1]! + h[2]! + h[3]!
  for (let lane = 1; lane < 4; lane++) h[lane] = h[lane]! + h[0]!
}

/** Two code units as one 32-bit word; past the end counts as zero. */
function pair(text: string, at: number): number {
  return text.charCodeAt(at) | 0 | ((text.charCodeAt(at + 1) | 0) << 16)
}

function scramble(word: number, lane: number): number {
  return Math.imul(rotate(Math.imul(word, C[lane]!), ROTATE_KEY[lane]!), C[(lane + 1) & 3]!)
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
