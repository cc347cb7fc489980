import type { CommandOutcome } from '../../ports/commands.ts'
import type { ReportedConsumer, ReportedSink } from '../../ports/fleet.ts'
import type { LetterResend, LetterValidity } from '../../runtime/fleet/letter-tasks.ts'
import { consumerLine, sinkLine } from './format-instance.ts'
import { safeText } from './safe-text.ts'

/** The letters that are listed below the counts. */
const MAX_LETTERS = 20

interface ProbeResult {
  readonly consumers?: readonly ReportedConsumer[]
  readonly sinks?: readonly ReportedSink[]
}

interface LettersResult {
  readonly letters?: readonly (LetterValidity | LetterResend)[]
}

/** What a process answered, below the line of the process. Empty for tasks that only succeed or fail. */
export function resultLines(kind: string, outcome: CommandOutcome | undefined): readonly string[] {
  if (outcome?.ok !== true) return []
  try {
    return linesOf(kind, outcome.result)
  } catch {
    // The process may have another version.
    return ['  the answer has a form that this version does not know\n']
  }
}

function linesOf(kind: string, result: unknown): readonly string[] {
  if (kind === 'probe') {
    const { consumers = [], sinks = [] } = result as ProbeResult
    return [...consumers.map(consumerLine), ...sinks.map(sinkLine)].map(line => `  ${line}\n`)
  }
  return kind === 'validate' || kind === 'resend' ? letterLines(result as LettersResult) : []
}

/** The counts, and the letters that need a person. */
function letterLines({ letters = [] }: LettersResult): readonly string[] {
  if (letters.length === 0) return ['  no dead letters\n']
  const says = (each: LetterValidity | LetterResend) => ('validity' in each ? each.validity : each.outcome)
  const counts = [...Map.groupBy(letters, says)].map(([word, { length }]) => `${length} ${safeText(word)}`)
  const others = letters.filter(each => says(each) !== 'valid' && says(each) !== 'delivered')
  const left = others.length - MAX_LETTERS
  return [
    `  ${counts.join(', ')}\n`,
    ...others.slice(0, MAX_LETTERS).map(each => {
      const why = each.reason === undefined ? '' : `: ${safeText(each.reason)}`
      return `  ${safeText(each.id)} ${safeText(says(each))}${why}\n`
    }),
    ...(left > 0 ? [`  and ${left} more; list them with --json\n`] : []),
  ]
}
