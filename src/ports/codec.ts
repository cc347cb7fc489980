import { decodeLetter, encodeLetter } from '../core/dead-letter/json.ts'
import type { DeadLetter } from '../core/dead-letter/letter.ts'
import type { LazaretEvent } from '../core/event/event.ts'
import { decodeEvent, encodeEvent } from '../core/event/json.ts'
import { custom, withDefault } from '../core/options/rules.ts'

/**
 * How single texts are written at rest, such as the title of a group. Texts that were written unencrypted can be read
 * as well.
 */
export interface TextCodec {
  encode(text: string): string
  decode(text: string): string
}

/** How letters are written at rest. A codec reads whatever it or an earlier one of the same store has written. */
export interface LetterCodec {
  encode(letter: DeadLetter): string
  decode(text: string): DeadLetter
  /**
   * Present when letters are sealed. Then no column beside a letter contains text of an error or a key: a store writes
   * such a text with this codec, or leaves it out.
   */
  readonly texts?: TextCodec | undefined
}

/** The same for the events that a broker keeps. */
export interface EventCodec {
  encode(event: LazaretEvent): string
  decode(text: string): LazaretEvent
  /** There when events are sealed: what a broker keeps beside an event has no text of an error then. */
  readonly texts?: TextCodec | undefined
}

/** How letters and events are written at rest. */
export interface Codec {
  /** How letters are written at rest. */
  readonly letters: LetterCodec
  /** How events are written at rest. */
  readonly events: EventCodec
}

/** JSON that anyone can read. */
export const plainCodec: Codec = Object.freeze({
  letters: Object.freeze({ encode: encodeLetter, decode: decodeLetter }),
  events: Object.freeze({ encode: encodeEvent, decode: decodeEvent }),
})

/** The option `codec` of whatever keeps letters or events: JSON unless another is given. */
export const codecRule = withDefault(
  custom(isCodec, 'give a codec with letters and events, each with encode() and decode()'),
  plainCodec,
)

function isCodec(value: unknown): value is Codec {
  const codec = value as Partial<Codec> | null | undefined
  return [codec?.letters, codec?.events].every(
    part => typeof part?.encode === 'function' && typeof part.decode === 'function',
  )
}
