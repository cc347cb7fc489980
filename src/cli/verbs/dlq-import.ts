import { createReadStream } from 'node:fs'
import { resolve } from 'node:path'
import { audited } from '../../adapter-kit/audited.ts'
import type { Context } from '../command.ts'
import type { importFlags } from '../flags/letters.ts'
import { type ExitCode, FailedError, type Io, UsageError } from '../io.ts'
import { linesOf } from '../operations/lines.ts'
import { ImportBrokenError, importLines } from '../operations/transfer.ts'
import { counted } from '../print/fields.ts'
import { jsonLine } from '../print/json.ts'
import { Progress } from '../print/progress.ts'
import { safeText } from '../print/safe-text.ts'
import { withStore } from '../session.ts'

export async function dlqImport({ io, args, flags }: Context<typeof importFlags>): Promise<ExitCode> {
  const named = args[0] ?? '-'
  const bytes = await openInput(io, named)
  return withStore(
    io,
    flags,
    async ({ store, by }) => {
      const progress = new Progress(io, undefined)
      const refuse = async (line: number, problem: string) => {
        await progress.clear()
        await io.stderr.write(`line ${line}: ${safeText(problem)}\n`)
      }
      let imported = 0
      let refused = 0
      let broken: ImportBrokenError | undefined
      const entry = {
        at: io.clock.now(),
        by,
        action: 'letters.import',
        target: named === '-' ? 'stdin' : named,
      }
      const importAll = () =>
        importLines(store.deadLetters, linesOf(bytes), refuse, async count => {
          imported = count
          await progress.show(count)
        })
      try {
        const report = await audited(store.audit, entry, importAll, {
          outcome: each => ({ imported: each.imported, refused: each.refused }),
          progress: () => ({ imported }),
        })
        imported = report.imported
        refused = report.refused
      } catch (error) {
        if (!(error instanceof ImportBrokenError)) throw error
        broken = error
        imported = error.imported
      } finally {
        await progress.clear()
      }
      const summary = `imported ${counted(imported, 'dead letter')}${refused === 0 ? '' : `, refused ${counted(refused, 'line')}`}`
      await io.stdout.write(flags.json ? jsonLine({ imported, refused }) : `${summary}\n`)
      if (broken !== undefined) await io.stderr.write(`lazaret: ${safeText(broken.message)}\n`)
      const isWhole = refused === 0 && broken === undefined
      return isWhole ? 0 : imported === 0 ? 1 : 3
    },
    'if-missing',
  )
}

/** Opened before the store is, so that a mistyped file makes no empty store. */
async function openInput(io: Io, named: string): Promise<AsyncIterable<Uint8Array>> {
  if (named === '-') {
    if (io.stdin.isTerminal) throw new UsageError('dlq import: give a FILE, or pipe letters in')
    return io.stdin.bytes
  }
  const stream = createReadStream(resolve(io.cwd, named))
  await new Promise<void>((done, fail) => {
    stream.once('open', () => done())
    stream.once('error', (error: NodeJS.ErrnoException) => {
      const remedy = 'give the path of a file that was exported'
      fail(
        new FailedError(
          error.code === 'ENOENT'
            ? `there is no file ${named}; ${remedy}`
            : `${named}: ${error.code}; ${remedy}`,
        ),
      )
    })
  })
  return stream as AsyncIterable<Uint8Array>
}
