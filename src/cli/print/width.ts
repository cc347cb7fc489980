/** Characters that take two columns of a terminal: East Asian wide ones and emoji. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}|[\u{20000}-\u{3fffd}]/u
/** The joiner of an emoji takes no room, like an accent. */
const COMBINING = /^[\p{M}\u200d]$/u
// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences take no room
const STYLING = /\u001b\[[\d;]*m/g
const PLAIN = /^[\x20-\x7e]*$/

/** How many columns a text takes. */
export function widthOf(text: string): number {
  const bare = text.replace(STYLING, '')
  if (PLAIN.test(bare)) return bare.length
  let width = 0
  for (const sign of bare) width += signWidth(sign)
  return width
}

/** The text if it fits, else its beginning with an ellipsis. Not for styled text. */
export function cutTo(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text
  let taken = ''
  let width = 0
  for (const sign of text) {
    width += signWidth(sign)
    if (width > columns - 1) break
    taken += sign
  }
  // A joiner without the emoji that it joins would be invisible.
  return `${taken.replace(/\u200d+$/, '')}…`
}

function signWidth(sign: string): number {
  if (COMBINING.test(sign)) return 0
  return WIDE.test(sign) ? 2 : 1
}
