import type { GateCheck } from '../api/types.ts'
import { counted, whole } from './numbers.ts'

type Answered = Exclude<GateCheck['answer'], { answeredBy: 'nobody' }>

const MAX_NAMED = 3

/** What became of the letters at a gate. A gate that nobody answered for has not let them pass: they were not checked. */
export function gateResult(
  blocked: number,
  says: string,
  checks: readonly GateCheck[],
): { readonly text: string; readonly isChecked: boolean } {
  const unchecked = checks
    .filter(({ answer }) => answer.answeredBy === 'nobody')
    .reduce((sum, { letters }) => sum + letters, 0)
  const isChecked = unchecked === 0
  if (blocked > 0) return { text: `${whole(blocked)} blocked: ${says}`, isChecked }
  if (isChecked) return { text: '0 blocked', isChecked }
  const isAnyChecked = checks.some(({ answer }) => answer.answeredBy !== 'nobody')
  return { text: isAnyChecked ? `${whole(unchecked)} not checked` : 'not checked', isChecked }
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
