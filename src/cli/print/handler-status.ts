import type { ExitCode, Io } from '../io.ts'
import { jsonLine } from './json.ts'
import { safeText } from './safe-text.ts'
import { type Column, tableOn } from './table.ts'

interface StatusAnswers<S> {
  readonly columns: readonly Column<S>[]
  /** For a server on which no handler was found. */
  readonly nothing: string
  /** For a channel of which no handler was found. */
  missing(channel: string): string
}

/** Prints the handlers of the given channels, or of all, and tells which channels have none. */
export async function printStatus<S extends { readonly channel: string }>(
  io: Io,
  asJson: boolean | undefined,
  channels: readonly string[],
  all: readonly S[],
  { columns, nothing, missing }: StatusAnswers<S>,
): Promise<ExitCode> {
  if (asJson) for (const status of all) await io.stdout.write(jsonLine(status))
  else if (all.length > 0) await io.stdout.write(tableOn(io, columns).page(all))
  else if (channels.length === 0) await io.stderr.write(`${nothing}\n`)
  const without = channels.filter(channel => !all.some(each => each.channel === channel))
  for (const channel of without)
    await io.stderr.write(`${safeText(channel)}: ${missing(safeText(channel))}\n`)
  return without.length === 0 ? 0 : without.length === channels.length ? 1 : 3
}
