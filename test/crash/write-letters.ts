import { LazaretError } from '../../src/core/failure/errors.ts'
import { systemClock, systemRandom } from '../../src/ports/clock.ts'
import type { DeadLetterStore } from '../../src/ports/dead-letters.ts'
import { createFactory } from '../../src/testing/factories.ts'
import { writeLine } from '../support/write-line.ts'

const make = createFactory({ clock: systemClock, random: systemRandom })

/**
 * Writes so many dead letters, and says on the standard output what was acknowledged. Each line is written before the
 * next step begins, so a line that its reader has seen was acknowledged for certain.
 */
export async function writeLetters(store: DeadLetterStore, count: number, inFlight: number): Promise<void> {
  let left = count
  await Promise.all(
    Array.from({ length: inFlight }, async (_, lane) => {
      for (let turn = lane; left-- > 0; turn += inFlight) await writeLetter(store, turn)
    }),
  )
}

export function print(...words: string[]): void {
  writeLine(words.join(' '))
}

/** One letter's life: sent, and then mostly changed or deleted. */
async function writeLetter(store: DeadLetterStore, turn: number): Promise<void> {
  const event = make.event()
  const letter = make.letter({
    event: { ...event, payload: { id: event.id, filler: 'x'.repeat(turn % 900) } },
  })
  if (!(await step('sent', letter.id, () => store.send(letter)))) return
  if (turn % 3 === 1) {
    print('discarding', letter.id)
    const change = { to: 'discarded', at: systemClock.now() } as const
    await step('discarded', letter.id, () => store.change(letter.id, change))
  }
  if (turn % 3 === 2) {
    print('deleting', letter.id)
    await step('deleted', letter.id, () => store.delete(letter.id))
  }
}

async function step(done: string, id: string, work: () => Promise<unknown>): Promise<boolean> {
  try {
    await work()
    print(done, id)
    return true
  } catch (error) {
    const code = error instanceof LazaretError ? error.code : 'UNEXPLAINED'
    print('failed', id, code, JSON.stringify(error instanceof Error ? error.message : error))
    return false
  }
}
