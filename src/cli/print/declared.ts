import type { ExitCode, Io } from '../io.ts'
import { jsonLine } from './json.ts'
import { safeText } from './safe-text.ts'

interface DeclareResult {
  readonly channel: string
  readonly handler: string
  readonly declared?: readonly string[]
  readonly problem?: string
}

/**
 * Declares what each channel needs on a server and prints each result, because one failure says nothing about the others.
 * `what` names the things, such as topics. Without a handler the channel names it.
 */
export async function printDeclared(
  io: Io,
  asJson: boolean | undefined,
  what: string,
  channels: readonly string[],
  given: string | undefined,
  declare: (channel: string, handler: string) => Promise<readonly string[]>,
): Promise<ExitCode> {
  let failed = 0
  for (const channel of channels) {
    const handler = given ?? channel
    try {
      await printResult(io, asJson, what, { channel, handler, declared: await declare(channel, handler) })
    } catch (error) {
      failed++
      await printResult(io, asJson, what, { channel, handler, problem: (error as Error).message })
    }
  }
  return failed === 0 ? 0 : failed === channels.length ? 1 : 3
}

async function printResult(
  io: Io,
  asJson: boolean | undefined,
  what: string,
  result: DeclareResult,
): Promise<void> {
  const { channel, handler, declared = [], problem } = result
  if (asJson) await io.stdout.write(jsonLine(result))
  else if (problem !== undefined) await io.stderr.write(`${safeText(problem)}\n`)
  else await io.stdout.write(`${safeText(`${channel}: ${declared.length} ${what} for handler ${handler}`)}\n`)
}
