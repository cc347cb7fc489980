import { readFile } from 'node:fs/promises'
import { OptionsError } from '../core/options/faults.ts'
import { withoutCredentials } from '../core/options/show.ts'
import { COMMANDS } from './commands.ts'
import { helpFor } from './help.ts'
import { type ExitCode, type Io, OutputClosedError, UsageError } from './io.ts'
import { parse } from './parse.ts'
import { safeText } from './print/safe-text.ts'

/** Runs one command line and returns its exit code. Never throws. */
export async function run(argv: readonly string[], io: Io): Promise<ExitCode> {
  try {
    const parsed = parse(argv, io.clock.now())
    switch (parsed.kind) {
      case 'version':
        await io.stdout.write(`${await version()}\n`)
        return 0
      case 'help':
        await io.stdout.write(helpFor(parsed.of, io.stdout.columns))
        return 0
      case 'run': {
        const work = await parsed.command.load()
        return await work({ io, args: parsed.args, flags: parsed.flags, commands: COMMANDS })
      }
    }
  } catch (error) {
    return explain(error, io)
  }
}

/** Prints an error for a person, without a stack unless LAZARET_DEBUG is set. */
async function explain(error: unknown, io: Io): Promise<ExitCode> {
  if (error instanceof OutputClosedError) return 0
  const { message, stack } = error instanceof Error ? error : new Error(String(error))
  const text = isDebugging(io)
    ? (stack ?? message)
    : error instanceof OptionsError
      ? faultLines(error)
      : message
  const told = withoutCredentials(text).split('\n').map(safeText).join('\n')
  await io.stderr.write(`lazaret: ${told}\n`).catch(() => {})
  return error instanceof UsageError || error instanceof OptionsError || isConfigError(error) ? 2 : 1
}

/** One line for each fault. */
function faultLines({ faults }: OptionsError): string {
  return faults.map(({ path, received, remedy }) => `${path}: got ${received}; ${remedy}`).join('\n')
}

function isDebugging({ env }: Io): boolean {
  return (env['LAZARET_DEBUG'] ?? '') !== ''
}

/** Compares the code and not the class, because the class would load the YAML parser. */
function isConfigError(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'LAZARET_CONFIG_INVALID'
}

async function version(): Promise<string> {
  const manifest = await readFile(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(manifest) as { version: string }).version
}
