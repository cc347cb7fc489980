// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/g

const NAMED: Readonly<Record<string, string>> = { '\n': '⏎', '\r': '␍', '\t': ' ' }

/**
 * Makes foreign text safe for a terminal, on one line. An error message or a key can contain escape sequences that clear
 * the screen, overwrite lines or simulate input; they become visible characters.
 */
export function safeText(text: string): string {
  return text.replace(UNSAFE, sign => NAMED[sign] ?? `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
