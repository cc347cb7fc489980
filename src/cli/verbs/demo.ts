import type { Context } from '../command.ts'
import type { demoFlags } from '../flags/common.ts'
import { type ExitCode, FailedError } from '../io.ts'

export async function demo(_: Context<typeof demoFlags>): Promise<ExitCode> {
  throw new FailedError(
    'demo: this version cannot do that yet; docs/guides/tutorial.md shows the same by hand',
  )
}
