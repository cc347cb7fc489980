import { open, rename, rm } from 'node:fs/promises'
import { resolve } from 'node:path'
import { auditedFilter } from '../../operations/filter-words.ts'
import type { Context } from '../command.ts'
import { type exportFlags, filterOf } from '../flags/letters.ts'
import { type ExitCode, FailedError } from '../io.ts'
import { exportLines } from '../operations/transfer.ts'
import { counted } from '../print/fields.ts'
import { jsonLine } from '../print/json.ts'
import { Progress } from '../print/progress.ts'
import { withStore } from '../session.ts'

/** Payloads are in it whole, so nobody else on the machine may read it. */
const OWNER_ONLY = 0o600

export function dlqExport({ io, flags }: Context<typeof exportFlags>): Promise<ExitCode> {
  return withStore(io, flags, async ({ store, by }) => {
    const filter = filterOf(flags)
    const { target, detail } = auditedFilter(filter)
    await store.audit.append({
      at: io.clock.now(),
      by,
      action: 'letters.export',
      target,
      detail: { ...detail, to: flags.out ?? 'stdout' },
    })
    const out = flags.out === undefined ? undefined : await openWhole(resolve(io.cwd, flags.out), flags.out)
    const progress = new Progress(io, undefined)
    let exported = 0
    try {
      for await (const lines of exportLines(store.deadLetters, filter)) {
        await (out ?? io.stdout).write(lines.join(''))
        exported += lines.length
        if (out !== undefined) await progress.show(exported)
      }
      await out?.finish()
    } catch (error) {
      await out?.abandon()
      throw error
    } finally {
      await progress.clear()
    }
    if (out !== undefined)
      await io.stdout.write(
        flags.json
          ? jsonLine({ exported, file: flags.out })
          : `exported ${counted(exported, 'dead letter')} to ${flags.out}\n`,
      )
    return 0
  })
}

/** A file that is there whole or not at all: it gets its name when everything is in it. */
async function openWhole(path: string, named: string) {
  const unfinished = `${path}.part`
  // A file that someone left there would keep its own mode and owner.
  await rm(unfinished, { force: true }).catch(() => {})
  const file = await open(unfinished, 'wx', OWNER_ONLY).catch((error: NodeJS.ErrnoException) => {
    throw new FailedError(
      `${named} cannot be written (${error.code}); see that its folder is there and yours to write`,
    )
  })
  return {
    write: async (text: string) => void (await file.appendFile(text)),
    async finish() {
      await file.sync()
      await file.close()
      await rename(unfinished, path)
    },
    async abandon() {
      await file.close().catch(() => {})
      await rm(unfinished, { force: true })
    },
  }
}
