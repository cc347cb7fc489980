/** Characters that cannot be seen, or that turn the direction of what follows: a way to make a text look like another. */
const UNSEEN = /^[\p{Cc}\p{Cf}\u2028\u2029]$/u
/** An emoji of several characters is taken whole, so that the joiners in it stay. */
const EMOJI_OR_UNSEEN = /\p{RGI_Emoji}|[\p{Cc}\p{Cf}\u2028\u2029]/gv
const KEPT: ReadonlySet<string> = new Set(['\t', '\n'])

/** The text with its unseen characters named, as ⟨U+202E⟩. Tabs and line breaks stay. */
export function plainText(text: string): string {
  return text.replace(EMOJI_OR_UNSEEN, character => {
    if (KEPT.has(character) || !UNSEEN.test(character)) return character
    return `⟨U+${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}⟩`
  })
}

/** The lines of a text, with its unseen characters named. */
export function textLines(text: string | undefined): readonly string[] {
  return text ? plainText(text).split('\n') : []
}

/** The beginning of a long text, and how many characters are left out. */
export function cut(text: string, most: number): { readonly text: string; readonly more: number } {
  if (text.length <= most) return { text, more: 0 }
  // A pair of halves must not be torn apart.
  const isTorn = /[\ud800-\udbff]/.test(text[most - 1] ?? '')
  const end = isTorn ? most - 1 : most
  return { text: text.slice(0, end), more: text.length - end }
}
