import { isInstance } from '../failure/thrown.ts'
import { bytesOf, jsonInside, jsonLines, textInBytes } from './json-inside.ts'
import { type PathCursors, startCursors, stepInto } from './mask-path.ts'
import { MASK } from './mask-text.ts'
import type { Masks } from './masks.ts'

const MAX_NODES = 200_000
const MAX_VALUES = 5_000
/** Deeper than any event that a store accepts. */
const MAX_DEPTH = 1_000
/** Shorter parts of a text that a pattern masks are words that occur everywhere. */
const MIN_PART = 4
/** Shorter numbers match no built-in pattern. */
const LONG_NUMBER = 1e11

/** The values that the masks hide, as texts. */
export interface HiddenValues {
  /** The values that a path or a name hides. */
  readonly values: readonly string[]
  /** All other texts. Patterns may mask parts of them: see `maskedParts`. */
  readonly otherTexts: readonly string[]
  /** False if there were too many values to collect. Then any text may quote a value that is missing here. */
  readonly isComplete: boolean
}

export const NOTHING_HIDDEN: HiddenValues = Object.freeze({
  values: [],
  otherTexts: [],
  isComplete: true,
})

/** Collects the values that masks hide in `value`, by path or by name. */
export function hiddenValues(value: unknown, masks: Masks, cursors?: PathCursors): HiddenValues {
  return walk(value, masks, cursors ?? startCursors(masks.paths), false)
}

/** Collects every text and number in `value`, for a part that is masked whole. */
export function allValues(value: unknown, masks: Masks): HiddenValues {
  return walk(value, masks, startCursors([]), true)
}

export function joinHidden(...several: readonly HiddenValues[]): HiddenValues {
  return {
    values: several.flatMap(({ values }) => values),
    otherTexts: several.flatMap(({ otherTexts }) => otherTexts),
    isComplete: several.every(({ isComplete }) => isComplete),
  }
}

function walk(value: unknown, masks: Masks, cursors: PathCursors, isHidden: boolean): HiddenValues {
  const found = new HiddenWalk(masks)
  found.visit(value, cursors, isHidden, 0)
  return { values: [...found.values], otherTexts: found.otherTexts, isComplete: found.isComplete }
}

class HiddenWalk {
  readonly values = new Set<string>()
  readonly otherTexts: string[] = []
  readonly #masks: Masks
  #nodes = 0
  #isTooDeep = false

  constructor(masks: Masks) {
    this.#masks = masks
  }

  get isComplete(): boolean {
    return this.#nodes <= MAX_NODES && this.values.size <= MAX_VALUES && !this.#isTooDeep
  }

  visit(value: unknown, cursors: PathCursors, isInHidden: boolean, depth: number): void {
    if (++this.#nodes > MAX_NODES || this.values.size > MAX_VALUES) return
    const isHidden = isInHidden || cursors.arrived
    switch (typeof value) {
      case 'string':
        this.#text(value, isHidden)
        this.#inside(value, cursors, isHidden, depth)
        break
      case 'number':
      case 'bigint':
        if (isHidden || value > LONG_NUMBER) this.#text(String(value), isHidden)
        break
      case 'object':
        if (value !== null) this.#object(value, cursors, isHidden, depth)
    }
  }

  #object(value: object, cursors: PathCursors, isHidden: boolean, depth: number): void {
    const bytes = bytesOf(value)
    if (bytes !== undefined) this.#bytes(bytes, cursors, isHidden, depth)
    else if (depth > MAX_DEPTH) this.#isTooDeep = true
    else if (isInstance(value, Set)) this.#object([...value], cursors, isHidden, depth)
    else if (isInstance(value, Map)) this.#properties(value, cursors, isHidden, depth)
    else if (Array.isArray(value))
      for (let index = 0; index < value.length; index++)
        this.visit(value[index], stepInto(cursors, index), isHidden, depth + 1)
    else this.#properties(Object.entries(value), cursors, isHidden, depth)
  }

  /** What a text holds as JSON, whole or line by line. */
  #inside(text: string, cursors: PathCursors, isHidden: boolean, depth: number): void {
    const json = jsonInside(text)
    if (json !== undefined) this.visit(json, cursors, isHidden, depth + 1)
    else for (const line of jsonLines(text) ?? []) this.#inside(line, cursors, isHidden, depth + 1)
  }

  /** An error does not quote bytes, but what the handler has read from them. */
  #bytes(bytes: Uint8Array, cursors: PathCursors, isHidden: boolean, depth: number): void {
    const text = textInBytes(bytes)
    if (text === undefined) return
    if (isHidden) this.#text(text, isHidden)
    this.#inside(text, cursors, isHidden, depth)
  }

  #properties(
    properties: Iterable<[unknown, unknown]>,
    cursors: PathCursors,
    isHidden: boolean,
    depth: number,
  ): void {
    for (const [key, value] of properties) {
      const name = String(key)
      this.visit(
        value,
        stepInto(cursors, name),
        isHidden || (value !== null && this.#masks.isMaskedName(name)),
        depth + 1,
      )
    }
  }

  #text(text: string, isHidden: boolean): void {
    if (text === '') return
    if (!isHidden) {
      this.otherTexts.push(text)
      return
    }
    this.values.add(text)
    // An error often quotes the value without the word before it.
    const [, quoted] = CREDENTIAL.exec(text) ?? LARGE_INTEGER.exec(text) ?? []
    if (quoted !== undefined) this.values.add(quoted)
  }
}

const CREDENTIAL = /^(?:bearer|basic|token|apikey)\s+(\S{4,})$/i
/** As a letter has an integer that JSON cannot write. */
const LARGE_INTEGER = /^\[bigint\] (-?\d+)$/

/** The parts of a text that patterns mask. A text that was cut inside such a part no longer matches the pattern. */
export function maskedParts(text: string, masks: Masks): readonly string[] {
  const masked = masks.maskText(text)
  if (masked === text) return []
  const [start = '', ...shown] = masked.split(MASK)
  const parts: string[] = []
  let at = start.length
  for (const [index, next] of shown.entries()) {
    const isLast = index === shown.length - 1
    const end = isLast ? text.length - next.length : text.indexOf(next, at + 1)
    // The masked text does not fit, because the text itself has stars. Then all of it is hidden.
    if (end < at || !text.startsWith(next, end)) return [text]
    parts.push(text.slice(at, end))
    at = end + next.length
  }
  return parts.filter(part => part.length >= MIN_PART)
}
