import { ConfigError } from '../../config/config-error.ts'
import { checkConfigFile } from '../../config/load.ts'
import type { Context } from '../command.ts'
import type { configCheckFlags } from '../flags.ts'
import type { ExitCode } from '../io.ts'
import { jsonLine } from '../print/json.ts'
import { safeText } from '../print/safe-text.ts'

/** Checks a config file as a whole: what `lazaret serve` reads of it, and what services read of it. */
export async function configCheck({ io, args, flags }: Context<typeof configCheckFlags>): Promise<ExitCode> {
  const file = args[0] ?? flags.config
  try {
    const found = await checkConfigFile({ file, cwd: io.cwd, env: io.env })
    const text = found === undefined ? 'no config file; the defaults apply' : `${found} is valid`
    if (flags.json) await io.stdout.write(jsonLine({ ok: true, file: found ?? null, faults: [] }))
    else await io.stdout.write(`${safeText(text)}\n`)
    return 0
  } catch (error) {
    if (!(error instanceof ConfigError) || error.faults.length === 0) throw error
    if (flags.json) await io.stdout.write(jsonLine({ ok: false, file: error.file, faults: error.faults }))
    else for (const line of error.message.split('\n')) await io.stdout.write(`${safeText(line)}\n`)
    return 1
  }
}
