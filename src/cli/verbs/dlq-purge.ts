import { filterInWords } from '../../operations/filter-words.ts'
import { countPurge, freezePurge, purgeLetters } from '../../operations/purge.ts'
import type { Context } from '../command.ts'
import { confirm } from '../confirm.ts'
import { filterOf, type purgeFlags } from '../flags/letters.ts'
import type { ExitCode } from '../io.ts'
import { counted } from '../print/fields.ts'
import { jsonLine } from '../print/json.ts'
import { Progress } from '../print/progress.ts'
import { withStore } from '../session.ts'

export function dlqPurge({ io, flags }: Context<typeof purgeFlags>): Promise<ExitCode> {
  return withStore(io, flags, async ({ store, by }) => {
    const filter = filterOf(flags)
    const request = { filter, isExpiredOnly: flags.expired === true, at: io.clock.now() }
    const purge = await freezePurge(store, request)
    const counts = countPurge(purge)
    const total = [...counts.values()].reduce((sum, count) => sum + count, 0)
    const done = async (deleted: number): Promise<void> =>
      io.stdout.write(
        flags.json ? jsonLine({ deleted, of: total }) : `deleted ${counted(deleted, 'dead letter')}\n`,
      )
    if (total === 0) {
      await done(0)
      return 0
    }
    const states = [...counts].map(([state, count]) => `${count} ${state}`).join(', ')
    const which = `${flags.expired ? 'expired, ' : ''}${filterInWords(filter)}`
    const question = `Delete ${counted(total, 'dead letter')} for good (${which}: ${states})?`
    if (!(await confirm(io, question, flags.yes))) {
      await io.stderr.write('nothing was deleted\n')
      return 1
    }
    const progress = new Progress(io, total)
    const signal = io.interrupted
    const deleted = await purgeLetters(store, purge, by, {
      signal,
      onProgress: count => progress.show(count),
    })
    await progress.clear()
    await done(deleted)
    if (purge.frozen.isCut) await io.stderr.write('there are more; run it again for the rest\n')
    return signal.aborted && deleted < total ? 3 : 0
  })
}
