import { encodeLetter } from '../../src/core/dead-letter/json.ts'
import type { DeadLetter } from '../../src/core/dead-letter/letter.ts'
import { systemClock, systemRandom } from '../../src/ports/clock.ts'
import { createFactory } from '../../src/testing/factories.ts'

const LETTER_BYTES = 1_024

/** Letters of about 1 kB. */
export function makeLetters(count: number): DeadLetter[] {
  const make = createFactory({ clock: systemClock, random: systemRandom })
  const bare = make.letter({ event: make.event({ payload: { text: '' } }) })
  const text = 'x'.repeat(Math.max(0, LETTER_BYTES - encodeLetter(bare).length))
  return Array.from({ length: count }, () => make.letter({ event: make.event({ payload: { text } }) }))
}
