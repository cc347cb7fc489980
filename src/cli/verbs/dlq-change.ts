import type { DeadLetter } from '../../core/dead-letter/letter.ts'
import { TransitionError } from '../../core/dead-letter/transition.ts'
import { DISCARD, DISCARDED_FROM } from '../../operations/bulk-actions.ts'
import { discardLetter, reopenLetter } from '../../operations/decide.ts'
import type { Decision } from '../../operations/decision.ts'
import type { KeyUnblocker } from '../../operations/unblock-keys.ts'
import type { Context } from '../command.ts'
import { findLetter } from '../find-by-id.ts'
import { type decideFlags, type discardFlags, filterOf } from '../flags.ts'
import { type ExitCode, UsageError } from '../io.ts'
import { withKeyUnblocker } from '../key-unblocker.ts'
import { jsonLine } from '../print/json.ts'
import { safeText } from '../print/safe-text.ts'
import { onStore, type Session } from '../session.ts'
import { runOnMatching } from './dlq-bulk.ts'

type Decide = (
  session: Session & { readonly keys: KeyUnblocker },
  letter: DeadLetter,
  decision: Decision,
) => Promise<DeadLetter | undefined>

const discardEach = decideAll(({ store, keys }, letter, decision) =>
  discardLetter(store, letter.id, decision, keys),
)

/** Discards the letters with these ids, or every letter that matches. */
export async function dlqDiscard(context: Context<typeof discardFlags>): Promise<ExitCode> {
  const { args, flags } = context
  const isFiltered = Object.keys(filterOf(flags)).length > 0
  if (isFiltered === args.length > 0)
    throw new UsageError(
      'dlq discard: give IDs, or filters such as --where and --reason; not both. Your own words go into --note',
    )
  if (args.length > 0) return discardEach(context)
  return runOnMatching(context, {
    name: 'dlq discard',
    words: { ask: 'Discard', would: 'would discard', did: 'discarded', were: 'discarded' },
    action: DISCARD,
    states: DISCARDED_FROM,
  })
}

export const dlqReopen = decideAll(({ store }, letter, decision) => reopenLetter(store, letter, decision))

export const dlqUnblock = decideAll(
  async ({ keys }, letter, decision) => {
    await keys.unblock(letter, decision).catch(error => {
      throw new Error(`key of ${letter.id}: ${(error as Error).message}`)
    })
    return letter
  },
  ({ id }) => `events that wait for the key of ${id} continue`,
)

/** Changes the letters one after the other, and continues after a failure. `told` is what a person reads of each. */
function decideAll(decide: Decide, told = ({ id, state }: DeadLetter) => `${id} is ${state}`) {
  return onStore<typeof decideFlags>((session, { io, args, flags }) =>
    withKeyUnblocker(session, async keys => {
      const { store, by } = session
      const decision: Decision = { by, at: io.clock.now(), note: flags.note }
      let done = 0
      for (const typed of args) {
        try {
          const letter = await decide({ ...session, keys }, await findLetter(store, typed), decision)
          if (letter === undefined)
            throw new Error(`${typed} was changed by another process at the same time; look at it again`)
          const { id, state } = letter
          await io.stdout.write(flags.json ? jsonLine({ id, state }) : `${told(letter)}\n`)
          done++
        } catch (error) {
          await io.stderr.write(`lazaret: ${safeText(withCommand(error as Error))}\n`)
        }
      }
      return done === args.length ? 0 : done === 0 ? 1 : 3
    }),
  )
}

/** Adds the command that reopens a letter, because errors of the core do not know the command line. */
function withCommand(error: Error): string {
  return error instanceof TransitionError && error.needsReopening
    ? `${error.message} with 'lazaret dlq reopen'`
    : error.message
}
