/**
 * An emoji of several characters is taken whole, so that the joiners in it stay. Anywhere else a joiner is as invisible
 * as the other characters here. They can clear a screen, turn the direction of a text, or hide a text in another one.
 */
const UNSAFE = /\p{RGI_Emoji}|[\p{Cc}\p{Cf}\u2028\u2029]/gv
const INVISIBLE = /^[\p{Cc}\p{Cf}\u2028\u2029]$/v

const NAMED: Readonly<Record<string, string>> = { '\n': '⏎', '\r': '␍', '\t': ' ' }

/**
 * Makes foreign text safe for a terminal, on one line. An error message or a key can contain escape sequences that clear
 * the screen, overwrite lines or simulate input; they become visible characters.
 */
export function safeText(text: string): string {
  return text.replace(UNSAFE, sign => (INVISIBLE.test(sign) ? (NAMED[sign] ?? escaped(sign)) : sign))
}

function escaped(sign: string): string {
  const code = sign.codePointAt(0)!.toString(16).padStart(4, '0')
  return code.length > 4 ? `\\u{${code}}` : `\\u${code}`
}
