import type { Context } from '../command.ts'
import { findLetter } from '../find.ts'
import type { showFlags } from '../flags/letters.ts'
import type { ExitCode } from '../io.ts'
import { jsonLine, letterOutside } from '../print/json.ts'
import { letterStory } from '../print/letter-story.ts'
import { paintFor } from '../print/style.ts'
import { NO_MASKS, revealing } from '../reveal.ts'
import { withStore } from '../session.ts'

export function dlqShow({ io, args, flags }: Context<typeof showFlags>): Promise<ExitCode> {
  return withStore(io, flags, async session => {
    const letter = await findLetter(session.store, args[0]!)
    const reveals = flags.reveal === true
    if (reveals) await revealing(session, { target: letter.id })
    const text = flags.json
      ? jsonLine(letterOutside(letter, reveals ? 'reveal' : session.masks))
      : letterStory(letter, {
          masks: reveals ? NO_MASKS : session.masks,
          isRevealed: reveals,
          now: io.clock.now(),
          paint: paintFor(io.stdout, io.env),
        })
    await io.stdout.write(text)
    return 0
  })
}
