const STARTS_LIKE_JSON = /^\s*[[{]/
const BRACE = 0x7b
const BRACKET = 0x5b

/**
 * The object or array that a text holds as JSON, because an event often carries another one as a text. Undefined if the text is
 * not JSON, or only a plain value.
 */
export function jsonInside(text: string): object | undefined {
  if (!STARTS_LIKE_JSON.test(text)) return undefined
  try {
    return JSON.parse(text) as object
  } catch {
    return undefined
  }
}

/** The same for bytes in UTF-8. */
export function jsonInBytes(bytes: Uint8Array): object | undefined {
  if (bytes[0] !== BRACE && bytes[0] !== BRACKET) return undefined
  try {
    return jsonInside(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    return undefined
  }
}
