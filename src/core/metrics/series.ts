/**
 * The label value that replaces all values past the limit. The brackets distinguish it from a real name, such as a channel
 * called `other`.
 */
export const OVERFLOW = '(other)'
/** Longer values are cut, because names can come from outside. */
export const MAX_VALUE_LENGTH = 120
/** Bounds the number of combinations of several labels: this many for each allowed value of one label. */
const COMBINATIONS_PER_VALUE = 10
/** With more labels than this, the last one is a detail, such as the error class. */
const LABELS_WITHOUT_DETAIL = 2

/** How many labels a family may have. */
export type LabelCount = 0 | 1 | 2 | 3 | 4

export interface SeriesBound {
  /** Of each label. */
  readonly maxValues: number
}

/** How many series a family has at most, that of the overflow included. */
export function mostSeries(labels: number, { maxValues }: SeriesBound): number {
  if (labels === 0) return 1
  return (labels === 1 ? maxValues : maxValues * COMBINATIONS_PER_VALUE) + 1
}

/** The values of the labels, as many as a family can have. Those that it does not have are empty. */
type Values = readonly [first: string, second: string, third: string, fourth: string]

/**
 * The series of one family, found by the values of its labels, of which there are four at most. The number of values of each
 * label is bounded, and so is the number of series. Later values share one series, so memory stays bounded.
 *
 * A family with three labels or more gives up the last one first: when half of the series are used, new series have the
 * overflow there. Many error classes of one channel then do not take the series of the other channels.
 *
 * Every event is counted, so this is a hot path. Most calls ask for the same series as the call before, which is found by a
 * comparison.
 */
export class Series<C> {
  readonly #labels: LabelCount
  readonly #bound: SeriesBound
  readonly #make: () => C
  readonly #known: readonly Set<string>[]
  readonly #cells = new Map<string, Map<string, { readonly values: Values; readonly cell: C }>>()
  #size = 0
  #lastValues: Values | undefined
  #last: C | undefined

  constructor(labels: LabelCount, bound: SeriesBound, make: () => C) {
    this.#labels = labels
    this.#bound = bound
    this.#make = make
    this.#known = Array.from({ length: labels }, () => new Set<string>())
  }

  get size(): number {
    return this.#size
  }

  at(first = '', second = '', third = '', fourth = ''): C {
    const last = this.#lastValues
    if (
      last !== undefined &&
      first === last[0] &&
      second === last[1] &&
      third === last[2] &&
      fourth === last[3]
    )
      return this.#last!
    const values = [first, second, third, fourth] as const
    const cell = this.#found(values) ?? this.#bounded(values)
    this.#lastValues = values
    this.#last = cell
    return cell
  }

  /** In the order in which they came up, those with the same first value together. */
  *entries(): Generator<readonly [values: readonly string[], cell: C]> {
    for (const cells of this.#cells.values())
      for (const { values, cell } of cells.values()) yield [values.slice(0, this.#labels), cell]
  }

  #bounded([first, second, third, fourth]: Values): C {
    const admitted: Values = [
      this.#admit(0, first),
      this.#admit(1, second),
      this.#admit(2, third),
      this.#admit(3, fourth),
    ]
    const known = this.#found(admitted)
    if (known !== undefined) return known
    const values = this.#isHalfFull ? this.#withoutDetail(admitted) : admitted
    return this.#found(values) ?? (this.#isFull ? this.#overflow() : this.#add(values))
  }

  /** One place is kept for the overflow. */
  get #isFull(): boolean {
    return this.#size >= mostSeries(this.#labels, this.#bound) - (this.#labels === 0 ? 0 : 1)
  }

  get #isHalfFull(): boolean {
    return this.#size >= mostSeries(this.#labels, this.#bound) / 2
  }

  #withoutDetail([first, second, third, fourth]: Values): Values {
    if (this.#labels <= LABELS_WITHOUT_DETAIL) return [first, second, third, fourth]
    return this.#labels === 3 ? [first, second, OVERFLOW, ''] : [first, second, third, OVERFLOW]
  }

  #overflow(): C {
    const at = (label: number) => (label < this.#labels ? OVERFLOW : '')
    const values: Values = [at(0), at(1), at(2), at(3)]
    return this.#found(values) ?? this.#add(values)
  }

  #admit(label: number, value: string): string {
    const known = this.#known[label]
    if (known === undefined) return ''
    // Half of a pair of surrogates, as the cut may leave it, is written as another sign: then two would look the same.
    const cut = value.slice(0, MAX_VALUE_LENGTH).toWellFormed()
    if (known.has(cut) || cut === OVERFLOW) return cut
    if (known.size >= this.#bound.maxValues) return OVERFLOW
    known.add(cut)
    return cut
  }

  #found(values: Values): C | undefined {
    return this.#cells.get(values[0])?.get(this.#restOf(values))?.cell
  }

  #add(values: Values): C {
    const cell = this.#make()
    const cells = this.#cells.get(values[0])
    const rest = this.#restOf(values)
    if (cells === undefined) this.#cells.set(values[0], new Map([[rest, { values, cell }]]))
    else cells.set(rest, { values, cell })
    this.#size++
    return cell
  }

  /** The key of all labels after the first. Most families have two labels at most and need no text of several. */
  #restOf([, second, third, fourth]: Values): string {
    return this.#labels <= LABELS_WITHOUT_DETAIL ? second : JSON.stringify([second, third, fourth])
  }
}
