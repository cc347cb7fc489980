import type { BatchShape } from '../../../ports/sink.ts'

/** One event of a batch, ready to be sent. */
export interface Piece {
  /** Its place in the batch. */
  readonly index: number
  /** About: the length of its text. */
  readonly size: number
}

/** Cuts pieces into portions that fit into a request each. One that fits nowhere goes alone: the far side decides. */
export function cut<P extends Piece>(
  pieces: readonly P[],
  { maxCount, maxBytes }: Required<BatchShape>,
): P[][] {
  const countMax = maxCount ?? Number.POSITIVE_INFINITY
  const bytesMax = maxBytes ?? Number.POSITIVE_INFINITY
  const portions: P[][] = []
  let portion: P[] = []
  let size = 0
  for (const piece of pieces) {
    if (portion.length > 0 && (portion.length >= countMax || size + piece.size > bytesMax)) {
      portions.push(portion)
      portion = []
      size = 0
    }
    portion.push(piece)
    size += piece.size
  }
  if (portion.length > 0) portions.push(portion)
  return portions
}
