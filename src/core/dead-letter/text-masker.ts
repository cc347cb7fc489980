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
    // Libraries wrap lines and write special spaces, so all white space counts as one kind. Every position stays the same.
    const searched = this.#forms.length === 0 ? text : text.replace(SPACE, ' ')
    const lowerCase = this.#forms.length === 0 ? undefined : inLowerCase(searched)
    for (const form of this.#forms) addOccurrences(spans, searched, lowerCase, form)
    for (const span of this.#cutFragments(searched)) spans.push(span)
    if (lowerCase !== undefined && lowerCase !== searched)
      for (const span of cutFragments(lowerCase, this.#lowerCaseForms())) spans.push(span)
    if (spans.length === 0) return this.#masks.maskText(text)
    return this.#masks.maskText(replaceSpans(text, spans)).replaceAll(PLACEHOLDER, MASK)
  }

  #lowerCaseForms(): readonly string[] {
    return this.#forms!.flatMap(({ lowerCase }) => lowerCase ?? [])
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

const SPACE = /\s/g
const NUMBER = /^-?(\d{4,}|\d+(?=\.))(?:\.(\d+))?$/
const BETWEEN_THOUSANDS = ['', ',', '.', ' ', "'"]
const BEFORE_FRACTION = ['.', ',']

/** The forms in which a text may quote a value: also without the white space that libraries remove. */
function formsOf(value: string): readonly string[] {
  const [, whole, fraction] = NUMBER.exec(value) ?? []
  if (whole !== undefined) return [value, ...numberForms(whole, fraction)]
  // Most values are equal in every form.
  if (/^[\w.~-]*$/.test(value)) return [value]
  const trimmed = value.trim()
  const spellings = [value, trimmed, trimmed.replace(/\s+/g, ' ')].flatMap(each => [
    ...[each, each.normalize('NFC'), each.normalize('NFD')],
  ])
  const forms = [...new Set(spellings)].flatMap(escapedForms)
  return forms.filter(form => form !== '').map(form => form.replace(SPACE, ' '))
}

/** A number as people read it: 5,550,123,987 or 1.234,50. Its sign stays. */
function numberForms(whole: string, fraction: string | undefined): readonly string[] {
  return BETWEEN_THOUSANDS.flatMap(mark => {
    const grouped = whole.replace(/\B(?=(\d{3})+$)/g, mark)
    if (fraction === undefined) return [grouped]
    const fractions = [fraction, fraction.padEnd(2, '0')]
    return BEFORE_FRACTION.flatMap(point => fractions.map(digits => `${grouped}${point}${digits}`))
  })
}

/** The text as it is, escaped in JSON, escaped in JSON inside JSON, in a URL, in code, in SQL and in HTML. */
function escapedForms(text: string): readonly string[] {
  const escaped = JSON.stringify(text).slice(1, -1)
  const inAscii = escaped.replace(NOT_ASCII, escapeCharacter)
  const inUrl = encodeURIComponent(text.toWellFormed())
  // The class URL also escapes these.
  const inQuery = inUrl.replace(/[!'()~]/g, character => `%${character.charCodeAt(0).toString(16)}`)
  return [
    ...[text, escaped, JSON.stringify(escaped).slice(1, -1)],
    // Many languages write JSON in ASCII alone.
    ...(inAscii === escaped ? [] : [inAscii, JSON.stringify(inAscii).slice(1, -1)]),
    ...[inUrl, inUrl.replaceAll('%20', '+'), encodeURIComponent(inUrl)],
    ...(inQuery === inUrl ? [] : [inQuery, inQuery.replaceAll('%20', '+'), inUrl.replaceAll("'", '%27')]),
    ...(text.includes("'") ? [text.replaceAll("'", "\\'"), text.replaceAll("'", "''")] : []),
    ...(HTML.test(text) ? APOSTROPHES.map(apostrophe => inHtml(text, apostrophe)) : []),
  ]
}

const NOT_ASCII = /[\u0080-\uffff]/g
const HTML = /[&<>"']/
const ENTITIES: Readonly<Record<string, string>> = {
  ...{ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' },
}
const APOSTROPHES = ['&#39;', '&#x27;', '&apos;']

function escapeCharacter(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

function inHtml(text: string, apostrophe: string): string {
  return text.replace(/[&<>"']/g, character => ENTITIES[character] ?? apostrophe)
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
