import { isBytes } from '../event/plain.ts'

const STARTS_LIKE_JSON = /^\s*[[{"]/
/** A line that can be an object or an array. */
const HAS_LINE_OF_JSON = /(?:^|\n)[^\S\n]*[[{]/

/**
 * The object, array or text that a text holds as JSON, because an event often carries another one as a text. Undefined if the text
 * is not JSON, or only a plain value.
 */
export function jsonInside(text: string): object | string | undefined {
  if (!STARTS_LIKE_JSON.test(text)) return undefined
  try {
    // `trim` also removes the mark with which some programs begin a file.
    return JSON.parse(text.trim()) as object | string
  } catch {
    return undefined
  }
}

/** The lines of a text in which each can be JSON. */
export function jsonLines(text: string): readonly string[] | undefined {
  return text.includes('\n') && HAS_LINE_OF_JSON.test(text) ? text.split('\n') : undefined
}

/** The text of bytes in UTF-8. */
export function textInBytes(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/** Bytes, also in the form in which JSON has the buffers of Node. */
export function bytesOf(value: object): Uint8Array | undefined {
  if (isBytes(value)) return value
  const { type, data } = value as { readonly type?: unknown; readonly data?: unknown }
  return type === 'Buffer' && Array.isArray(data) && data.every(Number.isInteger)
    ? Uint8Array.from(data as number[])
    : undefined
}
