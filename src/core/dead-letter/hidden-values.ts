import { isBytes } from '../event/plain.ts'
import { DISPLAY_MAX_DEPTH } from './mask.ts'
import { type PathCursors, startCursors, stepInto } from './mask-path.ts'
import { MASK } from './mask-text.ts'
import type { Masks } from './masks.ts'

const MAX_NODES = 200_000
const MAX_VALUES = 5_000
/** Shorter values occur inside many words. They are hidden only as whole words. */
const HIDDEN_ANYWHERE = 4
/** A cut text may end with the first characters of a value. Fewer characters than this reveal nothing. */
const CUT_VALUE = 4
/** It consists of letters, so that an address with a hidden part still matches the mask of addresses and is masked whole. */
const PLACEHOLDER = 'ꙮꙮꙮ'

/** The values that the masks hide by path or name, as texts. */
export interface HiddenValues {
  readonly values: readonly string[]
  /** False if there were too many values to collect. Then any text may quote a value that is missing here. */
  readonly isComplete: boolean
}

export const NOTHING_HIDDEN: HiddenValues = Object.freeze({ values: [], isComplete: true })

/** Collects the values that masks hide in `value`, by path or by name. */
export function hiddenValues(value: unknown, masks: Masks, cursors?: PathCursors): HiddenValues {
  const walk = new HiddenWalk(masks)
  walk.visit(value, cursors ?? startCursors(masks.paths), false, 0)
  return { values: [...walk.values], isComplete: walk.isComplete }
}

/** Collects every text and number in `value`, for a part that is masked whole. */
export function allValues(value: unknown, masks: Masks): HiddenValues {
  const walk = new HiddenWalk(masks)
  walk.visit(value, startCursors([]), true, 0)
  return { values: [...walk.values], isComplete: walk.isComplete }
}

export function joinHidden(...several: readonly HiddenValues[]): HiddenValues {
  return {
    values: several.flatMap(({ values }) => values),
    isComplete: several.every(({ isComplete }) => isComplete),
  }
}

/**
 * Masks a text for display. It hides the given values in every form in which the text may quote them, and secrets by
 * their form. If not all hidden values are known, it hides the whole text.
 */
export function hideIn(text: string, { values, isComplete }: HiddenValues, masks: Masks): string {
  if (!isComplete) return MASK
  if (values.length === 0) return masks.maskText(text)
  const quoted = new Set<string>()
  let beginning: string | undefined
  for (const value of values) {
    for (const form of formsOf(value)) if (form.length <= text.length && text.includes(form)) quoted.add(form)
    const cut = cutAtEnd(text, value)
    if (cut !== undefined && cut.length > (beginning?.length ?? 0)) beginning = cut
  }
  if (quoted.size === 0 && beginning === undefined) return masks.maskText(text)
  // The longest value is replaced first, because one value may be a part of another.
  const ordered = [...quoted].sort((a, b) => b.length - a.length)
  const start = beginning === undefined ? text : replaceEnd(text, beginning)
  return masks.maskText(ordered.reduce(withoutOne, start)).replaceAll(PLACEHOLDER, MASK)
}

/** The value as it is, escaped in JSON, escaped in JSON inside JSON, and escaped in a URL. */
function formsOf(value: string): readonly string[] {
  // Most values are equal in every form.
  if (/^[\w.~-]*$/.test(value)) return [value]
  const escaped = JSON.stringify(value).slice(1, -1)
  return [value, escaped, JSON.stringify(escaped).slice(1, -1), encodeURIComponent(value.toWellFormed())]
}

/** The first part of the value, if the text ends with it because it was cut there. */
function cutAtEnd(text: string, value: string): string | undefined {
  if (value.length <= CUT_VALUE || !text.endsWith('…')) return undefined
  const at = text.lastIndexOf(value.slice(0, CUT_VALUE))
  if (at < 0) return undefined
  const end = text.slice(at, -1)
  return end.length < value.length && value.startsWith(end) ? end : undefined
}

function replaceEnd(text: string, beginning: string): string {
  return `${text.slice(0, text.length - beginning.length - 1)}${PLACEHOLDER}…`
}

function withoutOne(text: string, hidden: string): string {
  if (hidden.length >= HIDDEN_ANYWHERE) return text.replaceAll(hidden, PLACEHOLDER)
  const literal = hidden.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
  return text.replace(new RegExp(`(?<![\\p{L}\\p{N}])${literal}(?![\\p{L}\\p{N}])`, 'gu'), PLACEHOLDER)
}

class HiddenWalk {
  readonly values = new Set<string>()
  readonly #masks: Masks
  #nodes = 0

  constructor(masks: Masks) {
    this.#masks = masks
  }

  get isComplete(): boolean {
    return this.#nodes <= MAX_NODES && this.values.size <= MAX_VALUES
  }

  visit(value: unknown, cursors: PathCursors, isInHidden: boolean, depth: number): void {
    if (++this.#nodes > MAX_NODES || this.values.size > MAX_VALUES) return
    const isHidden = isInHidden || cursors.arrived
    switch (typeof value) {
      case 'string':
      case 'number':
      case 'bigint':
        if (isHidden && value !== '') this.values.add(String(value))
        break
      case 'object':
        if (value === null || isBytes(value) || depth > DISPLAY_MAX_DEPTH) break
        if (Array.isArray(value))
          for (let index = 0; index < value.length; index++)
            this.visit(value[index], stepInto(cursors, index), isHidden, depth + 1)
        else this.#properties(value, cursors, isHidden, depth)
    }
  }

  #properties(object: object, cursors: PathCursors, isHidden: boolean, depth: number): void {
    for (const [name, value] of Object.entries(object))
      this.visit(
        value,
        stepInto(cursors, name),
        isHidden || (value !== null && this.#masks.isMaskedName(name)),
        depth + 1,
      )
  }
}
