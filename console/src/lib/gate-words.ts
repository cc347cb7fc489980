import type { GateCheck } from '../api/types.ts'
import { counted, whole } from './numbers.ts'

type Answered = Exclude<GateCheck['answer'], { answeredBy: 'nobody' }>

const MAX_NAMED = 3
const NOT_CHECKED = 'not checked here'

/**
 * What became of the letters at a gate. A gate that nobody answered for has not let them pass: they were not checked.
 * `checks` is 'own' for a gate that asks nobody, and undefined where the plan does not say whom it asked.
 */
export function gateResult(
  blocked: number,
  says: string,
  checks: readonly GateCheck[] | 'own' | undefined,
): { readonly text: string; readonly isChecked: boolean } {
  if (checks === undefined || checks === 'own') {
    const isChecked = checks === 'own' || blocked > 0
    return {
      text: blocked > 0 ? blockedText(blocked, says) : isChecked ? '0 blocked' : NOT_CHECKED,
      isChecked,
    }
  }
  if (checks.length === 0 && blocked === 0) return { text: 'no letter came to this gate', isChecked: false }
  const unchecked = checks
    .filter(({ answer }) => answer.answeredBy === 'nobody')
    .reduce((sum, { letters }) => sum + letters, 0)
  const isChecked = unchecked === 0
  if (blocked > 0) return { text: blockedText(blocked, says), isChecked }
  if (isChecked) return { text: '0 blocked', isChecked }
  const isAnyChecked = checks.some(({ answer }) => answer.answeredBy !== 'nobody')
  return { text: isAnyChecked ? `${whole(unchecked)} ${NOT_CHECKED}` : NOT_CHECKED, isChecked }
}

function blockedText(blocked: number, says: string): string {
  return `${whole(blocked)} blocked: ${says}`
}

/** The letters that a check is about. */
export function checkedLetters({ channel, handler, sink, letters }: GateCheck): string {
  const receiver =
    sink === undefined ? (handler === undefined ? channel : `${channel}/${handler}`) : `sink ${sink}`
  return `${receiver}, ${counted(letters, 'letter')}`
}

/** Whose word it is. */
export function whoAnswered(answer: Answered): string {
  if (answer.answeredBy === 'planner') return 'the process that planned'
  const named = answer.processes
    .slice(0, MAX_NAMED)
    .map(({ id, service, version }) => [service, version, id].filter(part => part !== undefined).join(' '))
  const more = answer.count - named.length
  return [...named, ...(more > 0 ? [`${whole(more)} more`] : [])].join(', ')
}
