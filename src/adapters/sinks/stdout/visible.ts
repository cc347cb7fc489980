/**
 * What a terminal or a reader would obey or hide instead of showing: controls (U+009B alone starts an escape sequence),
 * directions of writing that turn a line around, spaces without width, separators of lines and paragraphs.
 */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/** The text with everything that is not shown as itself written as an escape. Within JSON it means the same. */
export function visible(text: string): string {
  return text.toWellFormed().replace(UNSEEN, escaped)
}

function escaped(unseen: string): string {
  const units = Array.from({ length: unseen.length }, (_, at) => unseen.charCodeAt(at))
  return units.map(unit => `\\u${unit.toString(16).padStart(4, '0')}`).join('')
}
