import { decodeLetter, encodeLetter } from '../core/dead-letter/json.ts'
import type { DeadLetter } from '../core/dead-letter/letter.ts'
import type { LazaretEvent } from '../core/event/event.ts'
import { decodeEvent, encodeEvent } from '../core/event/json.ts'

/** How letters are written at rest. A codec reads whatever it or an earlier one of the same store has written. */
export interface LetterCodec {
  encode(letter: DeadLetter): string
  decode(text: string): DeadLetter
}

/** The same for the events that a broker keeps. */
export interface EventCodec {
  encode(event: LazaretEvent): string
  decode(text: string): LazaretEvent
}

export interface Codec {
  readonly letters: LetterCodec
  readonly events: EventCodec
}

/** JSON that anyone can read. */
export const plainCodec: Codec = Object.freeze({
  letters: Object.freeze({ encode: encodeLetter, decode: decodeLetter }),
  events: Object.freeze({ encode: encodeEvent, decode: decodeEvent }),
})
