/** A text is not JSON. The message says what is wrong and where. */
export class JsonError extends SyntaxError {
  override readonly name = 'JsonError'
}

/** The position in a longer text is not searched, because the search parses parts of the text several times. */
const MAX_SEARCHED_LENGTH = 65_536

/** Faults for which the engine names the position and quotes nothing. */
const WITHOUT_QUOTE = /^[^"]* JSON (?:input|at position \d+(?: \(line \d+ column \d+\))?)$/
const WITH_QUOTE = / is not valid JSON$/

/**
 * Parses JSON. The errors of `JSON.parse` quote the text. Those of this function do not: they become errors of dead letters,
 * which more people read than payloads.
 */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new JsonError(faultWithoutQuote(text, (error as Error).message))
  }
}

function faultWithoutQuote(text: string, message: string): string {
  if (WITHOUT_QUOTE.test(message)) return message
  if (!WITH_QUOTE.test(message)) return 'it is not valid JSON'
  if (text.length > MAX_SEARCHED_LENGTH) return 'Unexpected token in JSON'
  return `Unexpected token in JSON at position ${positionOfToken(text)}`
}

/** A part of the text from its start has an unexpected token exactly if it contains the first one of the text. */
function positionOfToken(text: string): number {
  let before = 0
  let after = text.length
  while (after - before > 1) {
    const middle = (before + after) >>> 1
    if (hasUnexpectedToken(text.slice(0, middle))) after = middle
    else before = middle
  }
  return before
}

function hasUnexpectedToken(text: string): boolean {
  try {
    JSON.parse(text)
    return false
  } catch (error) {
    return WITH_QUOTE.test((error as Error).message)
  }
}
