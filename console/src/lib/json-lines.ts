import { plainText } from './plain-text.ts'

export type TokenKind = 'name' | 'text' | 'number' | 'word' | 'mark' | 'masked'

export interface Token {
  readonly kind: TokenKind
  readonly text: string
}

/** What the server puts in the place of a value that may not be shown. */
const MASK = '***'
const TOKENS = /("(?:[^"\\]|\\.)*")(\s*:)?|(-?\d[\d.eE+-]*)|(true|false|null)|([{}[\],])/g

/** A JSON value as indented lines, with what cannot be seen in them named. */
export function jsonLines(value: unknown): readonly string[] {
  const text = typeof value === 'string' ? JSON.stringify(value) : (JSON.stringify(value, null, 2) ?? 'null')
  return plainText(text).split('\n')
}

/** The same for a comparison: a comma that only separates lines does not change a line. */
export function linesToCompare(value: unknown): readonly string[] {
  return jsonLines(value).map(line => line.replace(/,$/, ''))
}

/** One such line in its parts, to be shown in their colours. Put together they are the line. */
export function tokensOf(line: string): readonly Token[] {
  const tokens: Token[] = []
  let end = 0
  for (const match of line.matchAll(TOKENS)) {
    if (match.index > end) tokens.push({ kind: 'mark', text: line.slice(end, match.index) })
    const [whole, quoted, colon, number, word] = match
    if (quoted !== undefined && colon !== undefined)
      tokens.push({ kind: 'name', text: quoted }, { kind: 'mark', text: colon })
    else if (quoted !== undefined)
      tokens.push({ kind: quoted.includes(MASK) ? 'masked' : 'text', text: quoted })
    else if (number !== undefined) tokens.push({ kind: 'number', text: whole })
    else tokens.push({ kind: word === undefined ? 'mark' : 'word', text: whole })
    end = match.index + whole.length
  }
  if (end < line.length) tokens.push({ kind: 'mark', text: line.slice(end) })
  return tokens
}
