// How the search index is laid out, for the thread that writes it and the one that reads it.
//
// Letters stand in blocks of 32 by their seq, and 32 blocks make a segment, which is a row of the table `shelves`. A
// segment knows of every three characters in a row (a gram) which of its blocks contain it, as one bit each. Looking for
// a text means asking every segment for the grams of the text: blocks that have them all may hold it, the others cannot,
// and the few that may are read. Grams are kept as 16-bit hashes: a collision costs one useless block read.

export const BLOCK_SIZE = 32
export const BLOCKS_PER_SEGMENT = 32
export const SEGMENT_SIZE = BLOCK_SIZE * BLOCKS_PER_SEGMENT
export const GRAM_HASHES = 65_536
const GRAM_LENGTH = 3
/** Odd numbers without pattern: any would do, but these are in the files now. */
const P1 = 0x9e3779b1
const P2 = 0x85ebca6b
const P3 = 0xc2b2ae35

/** Stands between the fields of a letter's search text, so that nothing is found across two of them. */
export const FIELD_END = '\u001f'

export function segmentOf(seq: number): number {
  return Math.floor(seq / SEGMENT_SIZE)
}

/** The block's place in its segment. */
export function blockOf(seq: number): number {
  return Math.floor(seq / BLOCK_SIZE) % BLOCKS_PER_SEGMENT
}

/** Sets the bit of every gram of the text. Run for every letter that comes, hence without a call for every gram. */
export function markGrams(text: string, masks: Uint32Array, bit: number): void {
  let first = text.charCodeAt(0)
  let second = text.charCodeAt(1)
  for (let at = GRAM_LENGTH - 1; at < text.length; at++) {
    const third = text.charCodeAt(at)
    masks[gramHash(first, second, third)]! |= bit
    first = second
    second = third
  }
}

/** The grams of a search text, each once. */
export function gramsOf(text: string): readonly number[] {
  const hashes = new Set<number>()
  for (let at = GRAM_LENGTH - 1; at < text.length; at++)
    hashes.add(gramHash(text.charCodeAt(at - 2), text.charCodeAt(at - 1), text.charCodeAt(at)))
  return [...hashes]
}

function gramHash(first: number, second: number, third: number): number {
  return Math.imul(Math.imul(Math.imul(first, P1) ^ second, P2) ^ third, P3) >>> 16
}

export interface SegmentIndex {
  /** The hashes in ascending order. */
  readonly hashes: Uint16Array
  /** The blocks that contain each hash. */
  readonly masks: Uint32Array
}

/** Packs the hashes that occur in at least one block. */
export function packGrams(maskOf: Uint32Array): Uint8Array {
  let count = 0
  for (let hash = 0; hash < GRAM_HASHES; hash++) if (maskOf[hash] !== 0) count++
  const packed = new Uint8Array(count * 6)
  const { masks, hashes } = viewOf(packed.buffer, 0, packed.length)
  for (let hash = 0, at = 0; hash < GRAM_HASHES; hash++) {
    if (maskOf[hash] === 0) continue
    masks[at] = maskOf[hash]!
    hashes[at++] = hash
  }
  return packed
}

/** Avoids a copy if possible: a view of four-byte numbers must begin at a multiple of four. */
export function unpackGrams(packed: Uint8Array): SegmentIndex {
  const aligned = packed.byteOffset % 4 === 0 ? packed : packed.slice()
  return viewOf(aligned.buffer as ArrayBuffer, aligned.byteOffset, aligned.byteLength)
}

function viewOf(buffer: ArrayBuffer, start: number, length: number): SegmentIndex {
  const count = length / 6
  return {
    masks: new Uint32Array(buffer, start, count),
    hashes: new Uint16Array(buffer, start + count * 4, count),
  }
}

/** The blocks that have the gram, as bits. */
export function blocksWith({ hashes, masks }: SegmentIndex, hash: number): number {
  let low = 0
  for (let high = hashes.length; low < high; ) {
    const middle = (low + high) >> 1
    if (hashes[middle]! < hash) low = middle + 1
    else high = middle
  }
  return hashes[low] === hash ? masks[low]! : 0
}
