import { type Io, UsageError } from './io.ts'

/** Asks on a terminal; elsewhere nobody could answer, so there it has to be said beforehand. */
export async function confirm(io: Io, question: string, isSaid: boolean | undefined): Promise<boolean> {
  if (isSaid === true) return true
  if (!io.stdin.isTerminal || !io.stderr.isTerminal)
    throw new UsageError(`${question} Say yes with --yes: there is no terminal to ask on`)
  const answer = await io.ask(`${question} [y/N] `)
  return answer !== undefined && /^y(?:es)?$/i.test(answer.trim())
}
