import { visibleText } from '../../core/options/visible.ts'

const NAMED: Readonly<Record<string, string>> = { '\n': '⏎', '\r': '␍', '\t': ' ' }

/**
 * Makes foreign text safe for a terminal, on one line. An error message or a key can contain escape sequences that clear
 * the screen, overwrite lines or simulate input; they become visible characters.
 */
export function safeText(text: string): string {
  return visibleText(text, NAMED)
}
