import { hash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { letterId } from '../../../core/dead-letter/identity.ts'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import { MAX_ID_BYTES } from '../../../core/event/limits.ts'
import { isBytes } from '../../../core/event/plain.ts'

const HASH_DIGITS = 16

/**
 * The letter to save, given the one that the store has under the same id. Programs use one message id for several messages, and
 * the letter of the second would take the place of the first: different content is a different letter. Its id is made of
 * the message's id and content, so that the same message comes to the same letter each time it is found.
 */
export function distinctLetter(
  letter: DeadLetter,
  stored: DeadLetter | undefined,
  content: Buffer,
): DeadLetter {
  // A replay says itself which letter it is of, and may have been edited.
  if (stored === undefined || letter.cycle.number > 0) return letter
  if (isSameContent(stored.event.payload, letter.event.payload)) return letter
  const { event, channel, handler } = letter
  const ending = `~${hash('sha256', content).slice(0, HASH_DIGITS)}`
  const id = `${fitting(event.id, MAX_ID_BYTES - ending.length)}${ending}`
  const idempotencyKey = event.idempotencyKey === event.id ? id : event.idempotencyKey
  const distinct = { ...event, id, idempotencyKey }
  return { ...letter, event: distinct, id: letterId(channel, handler, distinct) }
}

function isSameContent(a: unknown, b: unknown): boolean {
  if (isBytes(a) || isBytes(b)) return isBytes(a) && isBytes(b) && Buffer.compare(a, b) === 0
  // As a store reads it back: JSON has no -0.
  return isDeepStrictEqual(JSON.parse(JSON.stringify(a)), JSON.parse(JSON.stringify(b)))
}

/** As much of the text as there is room for, without half a character at its end. */
function fitting(text: string, bytes: number): string {
  if (Buffer.byteLength(text) <= bytes) return text
  return Buffer.from(text)
    .subarray(0, bytes)
    .toString('utf8')
    .replace(/\ufffd+$/, '')
}
