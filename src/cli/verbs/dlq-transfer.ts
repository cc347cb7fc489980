import { open } from 'node:fs/promises'
import { resolve } from 'node:path'
import { withAudit } from '../../adapter-kit/with-audit.ts'
import { auditedFilter } from '../../operations/filter-text.ts'
import { CSV_HEADER } from '../../operations/letter-csv.ts'
import { watchMissingLetters } from '../../operations/missing-letters.ts'
import type { Context } from '../command.ts'
import { type exportFlags, filterOf, type importFlags } from '../flags.ts'
import { type ExitCode, FailedError, type Io, UsageError } from '../io.ts'
import { openOutput } from '../output-file.ts'
import { counted } from '../print/fields.ts'
import { jsonLine } from '../print/json.ts'
import { Progress } from '../print/progress.ts'
import { safeText } from '../print/safe-text.ts'
import { withStore } from '../session.ts'
import { exportCsv, exportLines, ImportFailedError, importLines, linesOf, NOT_JSON } from '../transfer.ts'

/** A file of another format has this fault in every line. */
const MAX_NOT_JSON_SHOWN = 5

export function dlqExport({ io, flags }: Context<typeof exportFlags>): Promise<ExitCode> {
  return withStore(io, flags, async ({ store, by, masks }) => {
    const filter = filterOf(flags)
    const isCsv = flags.format === 'csv'
    const { target, detail } = auditedFilter(filter)
    await store.audit.append({
      at: io.clock.now(),
      by,
      action: 'letters.export',
      target,
      detail: { ...detail, ...(isCsv ? { format: 'csv' } : {}), to: flags.out ?? 'stdout' },
    })
    const out = flags.out === undefined ? undefined : await openOutput(io, flags.out)
    const progress = new Progress(io, undefined)
    const missingOf = await watchMissingLetters(store.deadLetters, filter)
    let exported = 0
    try {
      if (isCsv) await (out ?? io.stdout).write(CSV_HEADER)
      const portions = isCsv ? exportCsv(store, filter, masks) : exportLines(store.deadLetters, filter)
      for await (const lines of portions) {
        if (io.interrupted.aborted) throw new FailedError('interrupted: the export is not complete')
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
      await out.messages.write(
        flags.json
          ? jsonLine({ exported, file: flags.out })
          : `exported ${counted(exported, 'dead letter')} to ${flags.out}\n`,
      )
    const missing = await missingOf(exported)
    if (missing === 0) return 0
    const are = missing === 1 ? 'is' : 'are'
    await io.stderr.write(
      `lazaret: ${counted(missing, 'letter')} ${are} not in the export: another program changed what is stored, or the letters failed again meanwhile; run lazaret doctor before you purge them\n`,
    )
    return 3
  })
}

export async function dlqImport({ io, args, flags }: Context<typeof importFlags>): Promise<ExitCode> {
  const named = args[0] ?? '-'
  const bytes = await openInput(io, named)
  return withStore(
    io,
    flags,
    async ({ store, by }) => {
      const progress = new Progress(io, undefined)
      const source = named === '-' ? 'stdin' : named
      let notJson = 0
      const refuse = async (line: number, problem: string) => {
        if (problem === NOT_JSON && ++notJson > MAX_NOT_JSON_SHOWN) return
        await progress.clear()
        await io.stderr.write(`${safeText(source)}:${line}: ${safeText(problem)}\n`)
      }
      let imported = 0
      let refused = 0
      let broken: ImportFailedError | undefined
      const entry = {
        at: io.clock.now(),
        by,
        action: 'letters.import',
        target: source,
      }
      const importAll = () =>
        importLines(store.deadLetters, linesOf(bytes), refuse, async count => {
          imported = count
          await progress.show(count)
        })
      try {
        const report = await withAudit(store.audit, entry, importAll, {
          outcome: each => ({ imported: each.imported, refused: each.refused }),
          progress: () => ({ imported }),
        })
        imported = report.imported
        refused = report.refused
      } catch (error) {
        if (!(error instanceof ImportFailedError)) throw error
        broken = error
        imported = error.imported
      } finally {
        await progress.clear()
      }
      if (notJson > MAX_NOT_JSON_SHOWN) await io.stderr.write(`and ${notJson - MAX_NOT_JSON_SHOWN} more\n`)
      const summary = `imported ${counted(imported, 'dead letter')}${refused === 0 ? '' : `, refused ${counted(refused, 'line')}`}`
      await io.stdout.write(flags.json ? jsonLine({ imported, refused }) : `${summary}\n`)
      if (broken !== undefined) await io.stderr.write(`lazaret: ${safeText(broken.message)}\n`)
      const isWhole = refused === 0 && broken === undefined
      return isWhole ? 0 : imported === 0 ? 1 : 3
    },
    'if-missing',
  )
}

/** Opens the input before the store, so that a mistyped file name does not create an empty store. */
async function openInput(io: Io, named: string): Promise<AsyncIterable<Uint8Array>> {
  if (named === '-') {
    if (io.stdin.isTerminal)
      throw new UsageError('dlq import: no input; give a FILE, or pipe exported letters in')
    return io.stdin.bytes
  }
  const remedy = 'give the path of a file that dlq export wrote'
  const file = await open(resolve(io.cwd, named)).catch((error: NodeJS.ErrnoException) => {
    throw new FailedError(
      error.code === 'ENOENT'
        ? `file not found: ${named}; ${remedy}`
        : `cannot read ${named} (${error.code}); ${remedy}`,
    )
  })
  if (!(await file.stat()).isDirectory()) return file.createReadStream() as AsyncIterable<Uint8Array>
  // A folder can be opened like a file, and only a read of it fails.
  await file.close()
  throw new FailedError(`${named} is a folder; ${remedy}`)
}
