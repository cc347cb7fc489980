export interface DiffLine {
  readonly kind: 'same' | 'gone' | 'new'
  readonly text: string
}

/** Beyond this many cells the table of the comparison is not worth its memory. */
const MOST_CELLS = 4_000_000

/**
 * What became of the lines of a text: the longest common run of lines stays, the rest went or came. Texts too long for
 * that are compared by their beginnings and ends alone; everything between counts as replaced.
 */
export function diffLines(before: readonly string[], after: readonly string[]): readonly DiffLine[] {
  let head = 0
  while (head < before.length && head < after.length && before[head] === after[head]) head++
  let tail = 0
  while (
    tail < before.length - head &&
    tail < after.length - head &&
    before[before.length - 1 - tail] === after[after.length - 1 - tail]
  )
    tail++
  const gone = before.slice(head, before.length - tail)
  const came = after.slice(head, after.length - tail)
  return [
    ...before.slice(0, head).map(text => line('same', text)),
    ...between(gone, came),
    ...before.slice(before.length - tail).map(text => line('same', text)),
  ]
}

function between(gone: readonly string[], came: readonly string[]): DiffLine[] {
  if (gone.length * came.length > MOST_CELLS || gone.length === 0 || came.length === 0)
    return [...gone.map(text => line('gone', text)), ...came.map(text => line('new', text))]
  const lengths = commonLengths(gone, came)
  const width = came.length + 1
  const found: DiffLine[] = []
  let [i, j] = [0, 0]
  while (i < gone.length && j < came.length) {
    if (gone[i] === came[j]) {
      found.push(line('same', gone[i]!))
      i++
      j++
    } else if (lengths[(i + 1) * width + j]! >= lengths[i * width + j + 1]!)
      found.push(line('gone', gone[i++]!))
    else found.push(line('new', came[j++]!))
  }
  while (i < gone.length) found.push(line('gone', gone[i++]!))
  while (j < came.length) found.push(line('new', came[j++]!))
  return found
}

/** Per pair of places, how many lines the two texts have in common from there on. */
function commonLengths(a: readonly string[], b: readonly string[]): Uint32Array {
  const width = b.length + 1
  const lengths = new Uint32Array((a.length + 1) * width)
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      lengths[i * width + j] =
        a[i] === b[j]
          ? lengths[(i + 1) * width + j + 1]! + 1
          : Math.max(lengths[(i + 1) * width + j]!, lengths[i * width + j + 1]!)
  return lengths
}

export interface Hunk {
  /** Lines left out before this hunk. */
  readonly skipped: number
  readonly lines: readonly DiffLine[]
}

/** Only the changes with a little around them; `rest` tells how many lines are left out at the end. */
export function hunksOf(diff: readonly DiffLine[], around = 3): { hunks: readonly Hunk[]; rest: number } {
  const isNear = diff.map((_, index) =>
    diff.slice(Math.max(0, index - around), index + around + 1).some(each => each.kind !== 'same'),
  )
  const hunks: { skipped: number; lines: DiffLine[] }[] = []
  let skipped = 0
  for (const [index, each] of diff.entries()) {
    if (!isNear[index]) {
      skipped++
      continue
    }
    if (skipped > 0 || hunks.length === 0) hunks.push({ skipped, lines: [] })
    hunks.at(-1)!.lines.push(each)
    skipped = 0
  }
  return { hunks, rest: skipped }
}

function line(kind: DiffLine['kind'], text: string): DiffLine {
  return { kind, text }
}
