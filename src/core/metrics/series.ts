/**
 * What all values of a label past the limit are told as. The brackets keep it apart from names that people give: a channel
 * called `other` is not taken for it.
 */
export const OVERFLOW = '(other)'
/** A longer value is cut: names come from outside too. */
export const MAX_VALUE_LENGTH = 120
/** Of two labels with as many values as allowed each, so many combinations at most are told apart. */
const COMBINATIONS_PER_VALUE = 10

export interface SeriesBound {
  /** Of each label. */
  readonly maxValues: number
}

/** How many series a family has at most, that of the overflow included. */
export function mostSeries(labels: number, { maxValues }: SeriesBound): number {
  if (labels === 0) return 1
  return (labels === 1 ? maxValues : maxValues * COMBINATIONS_PER_VALUE) + 1
}

/**
 * The series of one family, found by the values of its labels, of which there are two at most. The values of each label
 * are bounded, and so are the series: those that come later share one. So memory does not grow with what is counted.
 *
 * Counting is on the way of every event. A series that is asked for twice in a row, as most are, is found by comparing.
 */
export class Series<C> {
  readonly #labels: number
  readonly #bound: SeriesBound
  readonly #make: () => C
  readonly #known: readonly [Set<string>, Set<string>] = [new Set(), new Set()]
  readonly #cells = new Map<string, Map<string, C>>()
  #size = 0
  #lastFirst: string | undefined
  #lastSecond: string | undefined
  #last: C | undefined

  constructor(labels: 0 | 1 | 2, bound: SeriesBound, make: () => C) {
    this.#labels = labels
    this.#bound = bound
    this.#make = make
  }

  get size(): number {
    return this.#size
  }

  at(first = '', second = ''): C {
    if (first === this.#lastFirst && second === this.#lastSecond) return this.#last!
    const cell = this.#cells.get(first)?.get(second) ?? this.#bounded(first, second)
    this.#lastFirst = first
    this.#lastSecond = second
    this.#last = cell
    return cell
  }

  /** In the order in which they came up. */
  *entries(): Generator<readonly [values: readonly string[], cell: C]> {
    for (const [first, cells] of this.#cells)
      for (const [second, cell] of cells) yield [[first, second].slice(0, this.#labels), cell]
  }

  #bounded(first: string, second: string): C {
    const a = this.#admit(0, first)
    const b = this.#admit(1, second)
    return this.#found(a, b) ?? (this.#isFull ? this.#overflow() : this.#add(a, b))
  }

  /** One place is kept for the overflow. */
  get #isFull(): boolean {
    return this.#size >= mostSeries(this.#labels, this.#bound) - (this.#labels === 0 ? 0 : 1)
  }

  #overflow(): C {
    const second = this.#labels > 1 ? OVERFLOW : ''
    return this.#found(OVERFLOW, second) ?? this.#add(OVERFLOW, second)
  }

  #admit(label: 0 | 1, value: string): string {
    if (label >= this.#labels) return ''
    const known = this.#known[label]
    // Half of a pair of surrogates, as the cut may leave it, is written as another sign: then two would look the same.
    const cut = value.slice(0, MAX_VALUE_LENGTH).toWellFormed()
    if (known.has(cut) || cut === OVERFLOW) return cut
    if (known.size >= this.#bound.maxValues) return OVERFLOW
    known.add(cut)
    return cut
  }

  #found(first: string, second: string): C | undefined {
    return this.#cells.get(first)?.get(second)
  }

  #add(first: string, second: string): C {
    const cell = this.#make()
    const cells = this.#cells.get(first)
    if (cells === undefined) this.#cells.set(first, new Map([[second, cell]]))
    else cells.set(second, cell)
    this.#size++
    return cell
  }
}
