import { cutFragments, hasCut, type Span } from './cut-fragments.ts'
import { type HiddenValues, maskedParts } from './hidden-values.ts'
import { MASK } from './mask-text.ts'
import type { Masks } from './masks.ts'

/** Shorter values occur inside many words. They are hidden only as whole words. */
const HIDDEN_ANYWHERE = 4
/** Values of this length and more are hidden in any case. Shorter ones are often words, such as the street `Main`. */
const HIDDEN_IN_ANY_CASE = 6
/** It consists of letters, so that an address with a hidden part still matches the mask of addresses and is masked whole. */
const PLACEHOLDER = 'ꙮꙮꙮ'
/** The end of a value that was cut before the letter was stored. */
const CUT_END = '…'
const CUT_VALUE_MIN = 100

/** A form of a value, prepared for the search. */
interface Form {
  readonly text: string
  readonly lowerCase: string | undefined
}

/**
 * Masks texts for display. It hides the given values in every form in which a text may quote them, also where the text was cut
 * inside a value, and secrets by their form. If not all hidden values are known, it hides the whole text.
 */
export class TextMasker {
  readonly #hidden: HiddenValues
  readonly #masks: Masks
  #forms: readonly Form[] | undefined
  #cutValues: readonly string[] | undefined

  constructor(hidden: HiddenValues, masks: Masks) {
    this.#hidden = hidden
    this.#masks = masks
  }

  mask(text: string): string {
    if (!this.#hidden.isComplete) return MASK
    const spans: Span[] = []
    this.#forms ??= [...new Set(this.#hidden.values.flatMap(formsOf))].map(preparedForm)
    const lowerCase = this.#forms.length === 0 ? undefined : inLowerCase(text)
    for (const form of this.#forms) addOccurrences(spans, text, lowerCase, form)
    for (const span of this.#cutFragments(text)) spans.push(span)
    if (spans.length === 0) return this.#masks.maskText(text)
    return this.#masks.maskText(replaceSpans(text, spans)).replaceAll(PLACEHOLDER, MASK)
  }

  /** The parts that patterns mask are collected for cut texts only, because that takes long. */
  #cutFragments(text: string): readonly Span[] {
    const forms = this.#forms!.map(form => form.text)
    if (!hasCut(text)) return cutFragments(text, forms)
    const { otherTexts } = this.#hidden
    this.#cutValues ??= [
      ...forms,
      ...otherTexts.flatMap(each => maskedParts(each, this.#masks)).flatMap(formsOf),
    ]
    return cutFragments(text, this.#cutValues)
  }
}

function preparedForm(text: string): Form {
  const lowerCase = text.length >= HIDDEN_IN_ANY_CASE ? inLowerCase(text) : undefined
  return { text, lowerCase }
}

/** The forms in which a text may quote a value: also without the white space that libraries remove. */
function formsOf(value: string): readonly string[] {
  // Most values are equal in every form.
  if (/^[\w.~-]*$/.test(value)) return [value]
  const trimmed = value.trim()
  const forms = [value, trimmed, trimmed.replace(/\s+/g, ' ')].flatMap(escapedForms)
  return forms.filter(form => form !== '')
}

/** The text as it is, escaped in JSON, escaped in JSON inside JSON, in a URL, in code, in SQL and in HTML. */
function escapedForms(text: string): readonly string[] {
  const escaped = JSON.stringify(text).slice(1, -1)
  const inUrl = encodeURIComponent(text.toWellFormed())
  return [
    ...[text, escaped, JSON.stringify(escaped).slice(1, -1), inUrl, inUrl.replaceAll('%20', '+')],
    ...(text.includes("'") ? [text.replaceAll("'", "\\'"), text.replaceAll("'", "''")] : []),
    ...(HTML.test(text) ? [text.replace(/[&<>"']/g, character => ENTITIES[character]!)] : []),
  ]
}

const HTML = /[&<>"']/
const ENTITIES: Readonly<Record<string, string>> = {
  ...{ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' },
}

/** The text in lower case, if every position stays the same. */
function inLowerCase(text: string): string | undefined {
  const lowerCase = text.toLowerCase()
  return lowerCase.length === text.length ? lowerCase : undefined
}

function addOccurrences(spans: Span[], text: string, lowerCase: string | undefined, form: Form): void {
  const value = form.text
  if (value.length < HIDDEN_ANYWHERE) {
    if (!text.includes(value)) return
    const literal = value.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
    const word = new RegExp(`(?<![\\p{L}\\p{N}])${literal}(?![\\p{L}\\p{N}])`, 'gu')
    for (const { index } of text.matchAll(word)) spans.push([index, index + value.length])
    return
  }
  const isInAnyCase = lowerCase !== undefined && form.lowerCase !== undefined
  const [searched, whole] = isInAnyCase ? [lowerCase, form.lowerCase] : [text, value]
  const isCut = whole.endsWith(CUT_END) && whole.length >= CUT_VALUE_MIN
  const wanted = isCut ? whole.slice(0, -CUT_END.length) : whole
  let span: [number, number] | undefined
  for (let at = searched.indexOf(wanted); at >= 0; at = searched.indexOf(wanted, at + 1)) {
    // The letter does not say where a cut value ends.
    const end = isCut ? text.length : at + wanted.length
    if (span !== undefined && at <= span[1]) span[1] = end
    else {
      span = [at, end]
      spans.push(span)
    }
  }
}

function replaceSpans(text: string, spans: readonly Span[]): string {
  let shown = ''
  let at = 0
  for (const [start, end] of spans.toSorted((a, b) => a[0] - b[0])) {
    // Two spans that touch or overlap are one.
    if (start > at || shown === '') shown += text.slice(at, start) + PLACEHOLDER
    at = Math.max(at, end)
  }
  return shown + text.slice(at)
}
