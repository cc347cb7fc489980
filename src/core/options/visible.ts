/**
 * An emoji of several characters is taken whole, so that the joiners in it stay. Anywhere else a joiner is as invisible
 * as the other characters here. They can clear a screen, turn the direction of a text, or hide a text in another one.
 */
const UNSAFE = /\p{RGI_Emoji}|[\p{Cc}\p{Cf}\p{Variation_Selector}\u2028\u2029]/gv
const INVISIBLE = /^[\p{Cc}\p{Cf}\p{Variation_Selector}\u2028\u2029]$/v

/** Replaces characters that a reader would not see by visible ones. `named` has the characters with a sign of their own. */
export function visibleText(text: string, named: Readonly<Record<string, string>>): string {
  return text.replace(UNSAFE, sign => (INVISIBLE.test(sign) ? (named[sign] ?? escaped(sign)) : sign))
}

function escaped(sign: string): string {
  const code = sign.codePointAt(0)!.toString(16).padStart(4, '0')
  return code.length > 4 ? `\\u{${code}}` : `\\u${code}`
}
