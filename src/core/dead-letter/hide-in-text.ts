import { cutFragments, type Span } from './cut-fragments.ts'
import type { HiddenValues } from './hidden-values.ts'
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

/**
 * Masks a text for display. It hides the given values in every form in which the text may quote them, also where the text
 * was cut inside a value, and secrets by their form. If not all hidden values are known, it hides the whole text.
 */
export function hideIn(text: string, { values, isComplete }: HiddenValues, masks: Masks): string {
  if (!isComplete) return MASK
  if (values.length === 0) return masks.maskText(text)
  const folded = foldCase(text)
  const spans: Span[] = []
  const forms = new Set(values.flatMap(formsOf))
  for (const form of forms) addOccurrences(spans, text, folded, form)
  for (const span of cutFragments(text, forms)) spans.push(span)
  if (spans.length === 0) return masks.maskText(text)
  return masks.maskText(replaceSpans(text, spans)).replaceAll(PLACEHOLDER, MASK)
}

/** The value as it is, escaped in JSON, escaped in JSON inside JSON, in quotes of code or SQL, and escaped in a URL. */
function formsOf(value: string): readonly string[] {
  // Most values are equal in every form.
  if (/^[\w.~-]*$/.test(value)) return [value]
  const escaped = JSON.stringify(value).slice(1, -1)
  const inUrl = encodeURIComponent(value.toWellFormed())
  return [
    ...[value, escaped, JSON.stringify(escaped).slice(1, -1), inUrl, inUrl.replaceAll('%20', '+')],
    ...(value.includes("'") ? [value.replaceAll("'", "\\'"), value.replaceAll("'", "''")] : []),
  ]
}

/** The text in lower case, if every position stays the same. */
function foldCase(text: string): string | undefined {
  const folded = text.toLowerCase()
  return folded.length === text.length ? folded : undefined
}

function addOccurrences(spans: Span[], text: string, folded: string | undefined, form: string): void {
  if (form.length < HIDDEN_ANYWHERE) {
    if (!text.includes(form)) return
    const literal = form.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
    const word = new RegExp(`(?<![\\p{L}\\p{N}])${literal}(?![\\p{L}\\p{N}])`, 'gu')
    for (const { index } of text.matchAll(word)) spans.push([index, index + form.length])
    return
  }
  const isCut = form.endsWith(CUT_END) && form.length >= CUT_VALUE_MIN
  const whole = isCut ? form.slice(0, -CUT_END.length) : form
  const inAnyCase = folded !== undefined && whole.length >= HIDDEN_IN_ANY_CASE ? foldCase(whole) : undefined
  const [searched, wanted] = inAnyCase === undefined ? [text, whole] : [folded!, inAnyCase]
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
