import type { Context } from '../command.ts'
import { bashScript, fishScript, zshScript } from '../completion-scripts.ts'
import type { completionFlags } from '../flags.ts'
import { type ExitCode, UsageError } from '../io.ts'
import { suggest } from '../suggest.ts'

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript }

export async function completion({ io, args, commands }: Context<typeof completionFlags>): Promise<ExitCode> {
  const typed = args[0]!
  const shell = Object.keys(SCRIPTS).find((name): name is keyof typeof SCRIPTS => name === typed)
  if (shell === undefined) {
    const near = suggest(typed, Object.keys(SCRIPTS))
    throw new UsageError(
      `completion: unknown shell '${typed}'; ${near === undefined ? 'use bash, zsh or fish' : `did you mean '${near}'?`}`,
    )
  }
  await io.stdout.write(SCRIPTS[shell](commands))
  return 0
}
