import type { DeadLetter } from '../../core/dead-letter/letter.ts'
import { TransitionError } from '../../core/dead-letter/transition.ts'
import { type Decision, discardLetter, reopenLetter } from '../../operations/decide.ts'
import { describeFilter } from '../../operations/filter-text.ts'
import { digestFrozen } from '../../operations/freeze.ts'
import { countPurge, freezePurge, type Purge, purgeLetters } from '../../operations/purge.ts'
import type { Store } from '../../ports/store.ts'
import type { Context } from '../command.ts'
import { findLetter } from '../find-by-id.ts'
import { type decideFlags, filterOf, type purgeFlags } from '../flags.ts'
import { type ExitCode, FailedError, type Io, UsageError } from '../io.ts'
import { counted } from '../print/fields.ts'
import { jsonLine } from '../print/json.ts'
import { Progress } from '../print/progress.ts'
import { safeText } from '../print/safe-text.ts'
import { confirm, onStore, withStore } from '../session.ts'

type Decide = (store: Store, letter: DeadLetter, decision: Decision) => Promise<DeadLetter | undefined>

export const dlqDiscard = decideAll((store, letter, decision) => discardLetter(store, letter.id, decision))
export const dlqReopen = decideAll(reopenLetter)

/** Changes the letters one after the other, and continues after a failure. */
function decideAll(decide: Decide) {
  return onStore<typeof decideFlags>(async ({ store, by }, { io, args, flags }) => {
    const decision: Decision = { by, at: io.clock.now(), note: flags.note }
    let done = 0
    for (const typed of args) {
      try {
        const letter = await decide(store, await findLetter(store, typed), decision)
        if (letter === undefined)
          throw new Error(`${typed} was changed by another process at the same time; look at it again`)
        const { id, state } = letter
        await io.stdout.write(flags.json ? jsonLine({ id, state }) : `${id} is ${state}\n`)
        done++
      } catch (error) {
        await io.stderr.write(`lazaret: ${safeText(withCommand(error as Error))}\n`)
      }
    }
    return done === args.length ? 0 : done === 0 ? 1 : 3
  })
}

/** Adds the command that reopens a letter, because errors of the core do not know the command line. */
function withCommand(error: Error): string {
  return error instanceof TransitionError && error.needsReopening
    ? `${error.message} with 'lazaret dlq reopen'`
    : error.message
}

export async function dlqPurge({ io, flags }: Context<typeof purgeFlags>): Promise<ExitCode> {
  if ((flags.until === undefined) !== (flags.digest === undefined))
    throw new UsageError('dlq purge: give --until and --digest together, as dlq purge --preview prints them')
  return withStore(io, flags, async ({ store, by }) => {
    const filter = filterOf(flags)
    const now = io.clock.now()
    const request = { filter, isExpiredOnly: flags.expired === true, at: flags.until ?? now }
    const signal = io.interrupted
    const purge = await freezePurge(store, request, signal)
    if (signal.aborted) {
      await io.stderr.write('interrupted: nothing was deleted\n')
      return 1
    }
    const counts = countPurge(purge)
    const total = [...counts.values()].reduce((sum, count) => sum + count, 0)
    if (flags.preview) return showPreview(io, flags.json, purge)
    if (flags.digest !== undefined && flags.digest !== (await digestOf(purge)))
      throw new FailedError(
        `the letters that match have changed since ${new Date(request.at).toISOString()}; nothing was deleted; run dlq purge --preview again`,
      )
    const done = async (deleted: number): Promise<void> =>
      io.stdout.write(
        flags.json ? jsonLine({ deleted, of: total }) : `deleted ${counted(deleted, 'dead letter')}\n`,
      )
    if (total === 0) {
      await done(0)
      return 0
    }
    const states = [...counts].map(([state, count]) => `${count} ${state}`).join(', ')
    const which = `${flags.expired ? 'expired, ' : ''}${describeFilter(filter)}`
    const question = `Permanently delete ${counted(total, 'dead letter')} (${which}: ${states})?`
    if (!(await confirm(io, question, flags.yes))) {
      await io.stderr.write('nothing was deleted\n')
      return 1
    }
    const progress = new Progress(io, total)
    const deleted = await purgeLetters(store, purge, by, {
      signal,
      clock: io.clock,
      at: now,
      onProgress: count => progress.show(count),
    })
    await progress.clear()
    await done(deleted)
    if (purge.frozen.isCut)
      await io.stderr.write('more letters match; run the command again to delete them\n')
    if (!signal.aborted || deleted === total) return 0
    await io.stderr.write(
      `interrupted: ${deleted} of ${counted(total, 'letter')} were deleted and the others stay; run the command again to delete them\n`,
    )
    return 3
  })
}

async function showPreview(io: Io, isJson: boolean | undefined, purge: Purge): Promise<ExitCode> {
  const count = purge.frozen.letters.size
  const byState = Object.fromEntries(countPurge(purge))
  const until = new Date(purge.request.at).toISOString()
  const digest = await digestOf(purge)
  if (isJson) await io.stdout.write(jsonLine({ count, byState, until, digest }))
  else {
    const states = Object.entries(byState).map(([state, many]) => `${many} ${state}`)
    const which = [describeFilter(purge.request.filter), ...states].join(', ')
    await io.stdout.write(
      `would delete ${counted(count, 'dead letter')} (${which})\n` +
        `to delete exactly these letters, repeat the command with the same filters and --until ${until} --digest ${digest}\n`,
    )
  }
  return 0
}

/** The command line uses one store, so the digest needs no store name. */
function digestOf({ frozen }: Purge): Promise<string> {
  return digestFrozen(new Map([['', frozen]]))
}
