import type { LetterFilter, SavedView } from '../api/types.ts'

/** What the list of letters can be narrowed by, in the order it is offered. All of it lives in the URL. */
export const FILTER_NAMES = [
  'search',
  'channel',
  'state',
  'reason',
  'category',
  'type',
  'handler',
  'group',
  'release',
  'error',
  'minAttempts',
  'maxAttempts',
  'where',
  'after',
  'before',
] as const satisfies readonly (keyof LetterFilter)[]

export type FilterName = (typeof FILTER_NAMES)[number]
export type FilterTexts = { readonly [N in FilterName]?: string | undefined }

/** The filter in a URL; other parameters, such as the page, stay out. */
export function readFilter(search: string): FilterTexts {
  const params = new URLSearchParams(search)
  return Object.fromEntries(
    FILTER_NAMES.flatMap(name => {
      const value = params.get(name)?.trim()
      return value ? [[name, value]] : []
    }),
  )
}

/** As it goes to the server: times that are spans, such as 1h, are counted back from now. */
export function filterForServer(texts: FilterTexts, now: number): LetterFilter {
  const times = (['after', 'before'] as const).flatMap(name => {
    const at = momentOf(texts[name], now)
    return at === undefined ? [] : [[name, at]]
  })
  const { after: _after, before: _before, ...rest } = texts
  return { ...rest, ...Object.fromEntries(times) } as LetterFilter
}

const SPAN_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 }

/**
 * An invalid time goes to the server as it is, and the server refuses it: leaving it out would select too many letters.
 */
function momentOf(text: string | undefined, now: number): string | undefined {
  if (text === undefined) return undefined
  const [, amount, unit = ''] = /^(\d{1,6})([mhd])$/.exec(text) ?? []
  if (amount !== undefined) {
    // Whole minutes, so that asking again within one asks the same.
    const ms = now - Number(amount) * (SPAN_MS[unit] ?? 0)
    return new Date(Math.floor(ms / 60_000) * 60_000).toISOString()
  }
  const ms = Date.parse(text)
  return Number.isNaN(ms) ? text : new Date(ms).toISOString()
}

/** The URL of the letters with this filter changed; a change of the filter starts again at the first page. */
export function lettersUrl(
  texts: { readonly [N in FilterName]?: string | number | undefined },
  more: Readonly<Record<string, string>> = {},
): string {
  const params = new URLSearchParams()
  for (const name of FILTER_NAMES) if (texts[name]) params.set(name, String(texts[name]))
  for (const [name, value] of Object.entries(more)) params.set(name, value)
  const search = params.toString()
  return search === '' ? '/letters' : `/letters?${search}`
}

/** The URL at which Letters begins: that of a person's own default view, then of the shared one, then of all letters. */
export function defaultLettersUrl(views: readonly SavedView[]): string {
  const defaults = views.filter(view => view.default)
  const chosen = defaults.find(({ shared }) => !shared) ?? defaults[0]
  return lettersUrl(chosen?.filter ?? {})
}

/** The URL at which a replay of these letters is prepared. */
export function planUrl(
  selection: { readonly filter: FilterTexts } | { readonly ids: readonly string[] },
): string {
  if ('ids' in selection) return `/replays/new?ids=${selection.ids.map(encodeURIComponent).join(',')}`
  return lettersUrl(selection.filter).replace('/letters', '/replays/new')
}

/** The filters whose names are not a word of their own. */
const WORDS: { readonly [N in FilterName]?: string } = {
  minAttempts: 'attempts at least',
  maxAttempts: 'attempts at most',
}

/** The name of a filter as a person says it. */
export function filterWord(name: FilterName): string {
  return WORDS[name] ?? name
}

/** A filter as a person says it. */
export function filterInWords(texts: FilterTexts): string {
  const words = FILTER_NAMES.flatMap(name => (texts[name] ? [`${filterWord(name)} ${texts[name]}`] : []))
  return words.length === 0 ? 'all letters' : words.join(', ')
}
