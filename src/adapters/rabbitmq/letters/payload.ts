import { payloadOf } from '../broker/wire/event-codec.ts'
import type { AmqpMessage } from '../connection/amqp.ts'

/** Fifteen digits are what a number can hold for certain. */
const MAY_BE_ROUNDED = /\d{16}|\d\.\d{14}|\d[eE][+-]?\d/

/**
 * The payload as it can be shown and patched. It is left as bytes when it is no JSON although it says so, and when
 * reading and writing it would change a number: a replay has to send what was sent.
 */
export function collectedPayload(message: AmqpMessage): unknown {
  const { content } = message
  try {
    const payload = payloadOf(message)
    const isJson = typeof payload !== 'string' && !(payload instanceof Uint8Array)
    return isJson && changesNumbers(content) ? new Uint8Array(content) : payload
  } catch {
    return new Uint8Array(content)
  }
}

const NUMBER_OR_TEXT = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g

function changesNumbers(content: Buffer): boolean {
  const text = content.toString('utf8')
  if (!MAY_BE_ROUNDED.test(text)) return false
  for (const [token] of text.matchAll(NUMBER_OR_TEXT))
    if (!token.startsWith('"') && canonical(token) !== canonical(String(Number(token)))) return true
  return false
}

/** Sign, digits without zeroes at either end, and where the point is: two ways to write one number are equal. */
function canonical(number: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(number) ?? []
  const digits = `${whole}${fraction}`
  const significant = digits.replace(/^0+/, '')
  const bare = significant.replace(/0+$/, '')
  if (bare === '') return '0'
  const scale = Number(exponent) - fraction.length + (significant.length - bare.length)
  return `${sign}${bare}e${scale}`
}
