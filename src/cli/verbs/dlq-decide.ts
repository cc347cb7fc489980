import type { DeadLetter } from '../../core/dead-letter/letter.ts'
import { type Decision, discardLetter, reopenLetter } from '../../operations/decide.ts'
import type { Store } from '../../ports/store.ts'
import type { Context } from '../command.ts'
import { findLetter } from '../find.ts'
import type { decideFlags } from '../flags/letters.ts'
import type { ExitCode } from '../io.ts'
import { jsonLine } from '../print/json.ts'
import { safeText } from '../print/safe-text.ts'
import { withStore } from '../session.ts'

type Decide = (store: Store, letter: DeadLetter, decision: Decision) => Promise<DeadLetter | undefined>

export function dlqDiscard(context: Context<typeof decideFlags>): Promise<ExitCode> {
  return decideAll(context, (store, letter, decision) => discardLetter(store, letter.id, decision))
}

export function dlqReopen(context: Context<typeof decideFlags>): Promise<ExitCode> {
  return decideAll(context, reopenLetter)
}

/** One after the other, going on past those that cannot be. */
function decideAll({ io, args, flags }: Context<typeof decideFlags>, decide: Decide): Promise<ExitCode> {
  return withStore(io, flags, async ({ store, by }) => {
    const decision: Decision = { by, at: io.clock.now(), note: flags.note }
    let done = 0
    for (const typed of args) {
      try {
        const letter = await decide(store, await findLetter(store, typed), decision)
        if (letter === undefined)
          throw new Error(`${typed} was changed by someone else meanwhile; look at it again`)
        const { id, state } = letter
        await io.stdout.write(flags.json ? jsonLine({ id, state }) : `${id} is ${state}\n`)
        done++
      } catch (error) {
        await io.stderr.write(`lazaret: ${safeText((error as Error).message)}\n`)
      }
    }
    return done === args.length ? 0 : done === 0 ? 1 : 3
  })
}
