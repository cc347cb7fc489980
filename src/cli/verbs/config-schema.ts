import { configSchema, configSchemaText } from '../../config/json-schema/config-schema.ts'
import type { Context } from '../command.ts'
import type { configSchemaFlags } from '../flags.ts'
import type { ExitCode } from '../io.ts'
import { jsonLine } from '../print/json.ts'

/** Prints the JSON Schema of the config file: indented, or on one line with `--json`. */
export async function printConfigSchema({ io, flags }: Context<typeof configSchemaFlags>): Promise<ExitCode> {
  await io.stdout.write(flags.json ? jsonLine(configSchema()) : configSchemaText())
  return 0
}
