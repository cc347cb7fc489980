import type { GateAnswer, GateCheck } from '../ports/replays.ts'

/** The age of an answer in words, such as `3 s ago`. */
type AgeOf = (saidAt: number) => string

const MAX_NAMED = 3

/** Whose word a gate has for the letters of a consumer or sink, in words. The check is masked. */
export function describeCheck(check: GateCheck, ageOf: AgeOf): string {
  const { gate, letters, answer } = check
  const counted = letters === 1 ? '1 letter' : `${letters} letters`
  return `${gate} of ${receiverOf(check)}: ${counted} ${describeAnswer(answer, ageOf)}`
}

function receiverOf({ channel, handler, sink }: GateCheck): string {
  if (sink !== undefined) return `sink ${sink}`
  return handler === undefined ? channel : `${channel}/${handler}`
}

function describeAnswer(answer: GateAnswer, ageOf: AgeOf): string {
  switch (answer.answeredBy) {
    case 'planner':
      return `checked by the planning process, ${ageOf(answer.saidAt)}`
    case 'fleet':
      return `checked by ${processesOf(answer)}, ${ageOf(answer.saidAt)}`
    case 'nobody':
      return `not checked: ${answer.reason}`
  }
}

function processesOf({ count, processes }: Extract<GateAnswer, { answeredBy: 'fleet' }>): string {
  const named = processes
    .slice(0, MAX_NAMED)
    .map(({ id, service, version }) => [service, version, id].filter(part => part !== undefined).join(' '))
  const more = count - named.length
  return [...named, ...(more > 0 ? [`${more} more`] : [])].join(', ')
}
