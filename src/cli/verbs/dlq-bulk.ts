import type { LetterState } from '../../core/dead-letter/state.ts'
import {
  type BulkAction,
  type BulkSelection,
  countSelection,
  freezeBulk,
  runBulk,
} from '../../operations/bulk.ts'
import { assignTo, PURGE, RELEASE, RELEASED_FROM } from '../../operations/bulk-actions.ts'
import { describeFilter } from '../../operations/filter-text.ts'
import { digestFrozen } from '../../operations/freeze.ts'
import type { Context } from '../command.ts'
import { type assignFlags, type bulkFlags, filterOf, type purgeFlags } from '../flags.ts'
import { type ExitCode, FailedError, type Io, UsageError } from '../io.ts'
import { withKeyUnblocker } from '../key-unblocker.ts'
import { counted } from '../print/fields.ts'
import { jsonLine } from '../print/json.ts'
import { Progress } from '../print/progress.ts'
import { confirm, withStore } from '../session.ts'

/** An action on every letter that matches, and how the command speaks of it. */
interface Bulk {
  readonly name: string
  readonly words: {
    readonly ask: string
    readonly would: string
    readonly did: string
    readonly were: string
  }
  readonly action: BulkAction
  readonly states?: readonly LetterState[]
}

export function dlqPurge(context: Context<typeof purgeFlags>): Promise<ExitCode> {
  return runOnMatching(context, {
    name: 'dlq purge',
    words: { ask: 'Permanently delete', would: 'would delete', did: 'deleted', were: 'deleted' },
    action: PURGE,
  })
}

export function dlqRelease(context: Context<typeof bulkFlags>): Promise<ExitCode> {
  return runOnMatching(context, {
    name: 'dlq release',
    words: { ask: 'Release', would: 'would release', did: 'released', were: 'released' },
    action: RELEASE,
    states: RELEASED_FROM,
  })
}

export function dlqAssign(context: Context<typeof assignFlags>): Promise<ExitCode> {
  const { owner } = context.flags
  if (owner === undefined) throw new UsageError('dlq assign: --owner is missing; name the person')
  return runOnMatching(context, {
    name: 'dlq assign',
    words: {
      ask: `Assign to ${owner} the groups of`,
      would: 'would assign the groups of',
      did: 'assigned the groups of',
      were: 'assigned',
    },
    action: assignTo(owner),
  })
}

type BulkContext = Omit<Context<typeof bulkFlags>, 'flags'> & {
  readonly flags: Context<typeof bulkFlags>['flags'] & { readonly expired?: boolean | undefined }
}

/** Freezes the letters that match, asks, and works on exactly these, in batches. Ctrl-C ends it after the batch under way. */
export async function runOnMatching(
  { io, flags }: BulkContext,
  { name, words, action, states }: Bulk,
): Promise<ExitCode> {
  if ((flags.until === undefined) !== (flags.digest === undefined))
    throw new UsageError(`${name}: give --until and --digest together, as ${name} --preview prints them`)
  return withStore(io, flags, async session => {
    const { store, by } = session
    const filter = filterOf(flags)
    const now = io.clock.now()
    const isExpiredOnly = flags.expired === true
    const request = { filter, isExpiredOnly, states, at: flags.until ?? now }
    const signal = io.interrupted
    const selection = await freezeBulk(store, request, signal)
    if (signal.aborted) {
      await io.stderr.write(`interrupted: nothing was ${words.were}\n`)
      return 1
    }
    const counts = countSelection(selection)
    const total = [...counts.values()].reduce((sum, count) => sum + count, 0)
    if (flags.preview) return showPreview(io, flags.json, selection, words.would)
    if (flags.digest !== undefined && flags.digest !== (await digestOf(selection)))
      throw new FailedError(
        `the letters that match have changed since ${new Date(request.at).toISOString()}; nothing was ${words.were}; run ${name} --preview again`,
      )
    const tell = async (done: number): Promise<void> =>
      io.stdout.write(
        flags.json
          ? jsonLine({ [action.done]: done, of: total })
          : `${words.did} ${counted(done, 'dead letter')}\n`,
      )
    if (total === 0) {
      await tell(0)
      return 0
    }
    const byState = [...counts].map(([state, count]) => `${count} ${state}`).join(', ')
    const which = `${isExpiredOnly ? 'expired, ' : ''}${describeFilter(filter)}`
    const question = `${words.ask} ${counted(total, 'dead letter')} (${which}: ${byState})?`
    if (!(await confirm(io, question, flags.yes))) {
      await io.stderr.write(`nothing was ${words.were}\n`)
      return 1
    }
    return withKeyUnblocker(session, async keys => {
      const progress = new Progress(io, total)
      const done = await runBulk(store, selection, action, by, {
        signal,
        clock: io.clock,
        at: now,
        note: flags.note,
        keys,
        onProgress: count => progress.show(count),
      })
      await progress.clear()
      await tell(done)
      if (selection.frozen.isCut)
        await io.stderr.write('more letters match; run the command again for them\n')
      if (!signal.aborted || done === total) return 0
      await io.stderr.write(
        `interrupted: ${done} of ${counted(total, 'letter')} were ${words.were} and the others stay; run the command again for them\n`,
      )
      return 3
    })
  })
}

async function showPreview(
  io: Io,
  isJson: boolean | undefined,
  selection: BulkSelection,
  would: string,
): Promise<ExitCode> {
  const count = selection.frozen.letters.size
  const byState = Object.fromEntries(countSelection(selection))
  const until = new Date(selection.request.at).toISOString()
  const digest = await digestOf(selection)
  if (isJson) await io.stdout.write(jsonLine({ count, byState, until, digest }))
  else {
    const states = Object.entries(byState).map(([state, many]) => `${many} ${state}`)
    const which = [describeFilter(selection.request.filter), ...states].join(', ')
    await io.stdout.write(
      `${would} ${counted(count, 'dead letter')} (${which})\n` +
        `for exactly these letters, repeat the command with the same filters and --until ${until} --digest ${digest}\n`,
    )
  }
  return 0
}

/** The command line uses one store, so the digest needs no store name. */
function digestOf({ frozen }: BulkSelection): Promise<string> {
  return digestFrozen(new Map([['', frozen]]))
}
