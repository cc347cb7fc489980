/** A part of a text, from the first position up to the last one. */
export type Span = readonly [start: number, end: number]

/** Fewer characters of a value than this reveal nothing. */
const MIN_FRAGMENT = 4
/** The places that are tried for one value. If none of these fits, the longest possible part is hidden. */
const MAX_TRIES = 64
/** Marks of a cut: an ellipsis, three dots, and the arrow between the errors of a fingerprint, which are cut without a mark. */
const CUT_MARK = /…|\.{3}| ← /g
/** A library that quotes a part of its input puts the part in quotes before the mark: `"{"name":"Ad"... is not valid JSON`. */
const QUOTE = /["'`]/

/** Whether a text has a mark of a cut. */
export function hasCut(text: string): boolean {
  return text.search(CUT_MARK) >= 0
}

/** A piece of a text between two cuts. */
interface Piece {
  readonly text: string
  readonly isCutBefore: boolean
  /** Where the piece occurs. */
  readonly starts: number[]
}

/**
 * Finds the parts of values that stand where a text was cut: the beginning of a value before a mark of a cut or at the end of
 * the text, the end of a value after a mark, and any part of a value between two marks.
 */
export function cutFragments(text: string, values: readonly string[]): readonly Span[] {
  if (values.length === 0) return []
  return piecesOf(text).flatMap(piece => {
    const spans = fragmentsIn(piece, values)
    return piece.starts.flatMap(at => spans.map(([start, end]) => [at + start, at + end] as const))
  })
}

/** Equal pieces are one, so that a text of many of them does not take long. */
function piecesOf(whole: string): readonly Piece[] {
  const pieces = new Map<string, Piece>()
  let from = 0
  const add = (start: number, end: number) => {
    if (end - start < MIN_FRAGMENT) return
    const text = whole.slice(start, end)
    const isCutBefore = from > 0
    const key = `${isCutBefore} ${text}`
    const known = pieces.get(key)
    if (known === undefined) pieces.set(key, { text, isCutBefore, starts: [start] })
    else known.starts.push(start)
  }
  for (const { index, 0: mark } of whole.matchAll(CUT_MARK)) {
    const isOpened = from > 0 && QUOTE.test(whole[from]!)
    const isClosed = QUOTE.test(whole[index - 1] ?? '')
    add(from, index)
    if (isOpened || isClosed) add(isOpened ? from + 1 : from, isClosed ? index - 1 : index)
    from = index + mark.length
  }
  add(from, whole.length)
  if (from > 0 && QUOTE.test(whole[from] ?? '')) add(from + 1, whole.length)
  return [...pieces.values()]
}

/** The longest part at the end of the piece, and the longest one at its beginning. */
function fragmentsIn({ text, isCutBefore }: Piece, values: readonly string[]): readonly Span[] {
  let from = text.length
  let until = 0
  for (const value of values) {
    if (value.length <= MIN_FRAGMENT) continue
    from = Math.min(from, beginningAtEnd(text, value) ?? from)
    if (!isCutBefore) continue
    until = Math.max(until, endAtBeginning(text, value) ?? 0)
    if (text.length < value.length && value.includes(text)) from = 0
  }
  return [
    ...(from < text.length ? [[from, text.length] as const] : []),
    ...(until > 0 ? [[0, until] as const] : []),
  ]
}

/** The position from which on the text is the beginning of the value. */
function beginningAtEnd(text: string, value: string): number | undefined {
  const head = value.slice(0, MIN_FRAGMENT)
  const first = text.indexOf(head, Math.max(0, text.length - value.length + 1))
  let at = first
  for (let tries = 0; at >= 0; tries++) {
    if (tries === MAX_TRIES) return first
    if (value.startsWith(text.slice(at))) return at
    at = text.indexOf(head, at + 1)
  }
  return undefined
}

/** The position up to which the text is the end of the value. */
function endAtBeginning(text: string, value: string): number | undefined {
  const tail = value.slice(-MIN_FRAGMENT)
  const last = text.lastIndexOf(tail, value.length - 1 - MIN_FRAGMENT)
  let at = last
  for (let tries = 0; at >= 0; tries++) {
    if (tries === MAX_TRIES) return last + MIN_FRAGMENT
    if (value.endsWith(text.slice(0, at + MIN_FRAGMENT))) return at + MIN_FRAGMENT
    at = at === 0 ? -1 : text.lastIndexOf(tail, at - 1)
  }
  return undefined
}
