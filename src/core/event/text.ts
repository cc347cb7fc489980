const BYTES_OF_ESCAPE = 6
const BYTES_OF_SHORT_ESCAPE = 2

/** Each character is one byte and needs no escape. */
const PLAIN_ASCII = /^[ !#-[\]-~]*$/
/** For shorter texts the count is faster than this test. */
const WORTH_LOOKING = 16

/** The size of a text in JSON, in UTF-8 bytes with quotes and escapes. */
export function jsonTextBytes(text: string): number {
  let bytes = 2
  if (text.length >= WORTH_LOOKING && PLAIN_ASCII.test(text)) return bytes + text.length
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit === 0x22 || unit === 0x5c) bytes += BYTES_OF_SHORT_ESCAPE
    else if (unit < 0x20) bytes += hasShortEscape(unit) ? BYTES_OF_SHORT_ESCAPE : BYTES_OF_ESCAPE
    else if (unit < 0x80) bytes += 1
    else if (unit < 0x800) bytes += 2
    else if (isSurrogate(unit)) {
      if (startsPair(text, at)) {
        bytes += 4
        at++
      } else bytes += BYTES_OF_ESCAPE
    } else bytes += 3
  }
  return bytes
}

/**
 * The size in UTF-8 bytes of a text that every broker property, header, file and SQL column can carry unchanged.
 * Undefined if the text contains control characters or halves of surrogate pairs, which UTF-8 cannot encode.
 */
export function cleanTextBytes(text: string): number | undefined {
  let bytes = 0
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit < 0x20 || (unit >= 0x7f && unit < 0xa0)) return undefined
    if (unit < 0x80) bytes += 1
    else if (unit < 0x800) bytes += 2
    else if (isSurrogate(unit)) {
      if (!startsPair(text, at)) return undefined
      bytes += 4
      at++
    } else bytes += 3
  }
  return bytes
}

/** The size of any text in UTF-8 bytes. Half a surrogate pair counts as the replacement character. */
export function textBytes(text: string): number {
  let bytes = 0
  for (let at = 0; at < text.length; at += unitsAt(text, at)) bytes += bytesAt(text, at)
  return bytes
}

/** The longest beginning of a text that fits into the bytes. It never ends with half a surrogate pair. */
export function prefixWithin(text: string, maxBytes: number): string {
  let bytes = 0
  for (let at = 0; at < text.length; at += unitsAt(text, at)) {
    bytes += bytesAt(text, at)
    if (bytes > maxBytes) return text.slice(0, at)
  }
  return text
}

function bytesAt(text: string, at: number): number {
  const unit = text.charCodeAt(at)
  if (unit < 0x80) return 1
  if (unit < 0x800) return 2
  return unitsAt(text, at) === 2 ? 4 : 3
}

function unitsAt(text: string, at: number): 1 | 2 {
  return isSurrogate(text.charCodeAt(at)) && startsPair(text, at) ? 2 : 1
}

function hasShortEscape(unit: number): boolean {
  return unit === 0x08 || unit === 0x09 || unit === 0x0a || unit === 0x0c || unit === 0x0d
}

function isSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdfff
}

function startsPair(text: string, at: number): boolean {
  const next = text.charCodeAt(at + 1)
  return text.charCodeAt(at) <= 0xdbff && next >= 0xdc00 && next <= 0xdfff
}
