import type { ServerContext } from '../context.ts'
import { type ProblemError, problemOf } from '../problem.ts'
import { Cleaner } from './cleaner.ts'
import { UNTRUSTED } from './untrusted.ts'

/** The details of these problems quote no store, no payload and no error: they are in words of ours. */
const IN_OUR_WORDS: readonly ProblemError['kind'][] = [
  'forbidden',
  'conflict',
  'too-many-requests',
  'server-fault',
]

const TITLES: { readonly [K in ProblemError['kind']]?: string } = {
  'not-found': 'Nothing has this ID or name. It may have been deleted.',
  'invalid-request': 'The input is not valid. The faults below say how to fix it.',
  unprocessable: 'This cannot be carried out. The detail below says why.',
  unavailable: 'A store does not answer. Retry later, or tell a person.',
}

/** The answer of a tool that failed. The agent may correct its input, so this is a result and no error of the protocol. */
export function toolProblem(error: unknown, { onError }: Pick<ServerContext, 'onError'>) {
  const problem = problemOf(error)
  if (problem.kind === 'server-fault') onError(error)
  const cleaner = new Cleaner()
  const detail = String(cleaner.clean(problem.message))
  const isOurs = IN_OUR_WORDS.includes(problem.kind)
  const text = isOurs ? detail : (TITLES[problem.kind] ?? 'The call failed.')
  const outside = {
    ...(isOurs ? {} : { detail }),
    ...(problem.faults.length === 0 ? {} : { faults: cleaner.clean(problem.faults) }),
  }
  const data = { problem: problem.kind, about: UNTRUSTED, untrusted: outside }
  const isTold = Object.keys(outside).length === 0
  return {
    isError: true,
    content: [textOf(text), ...(isTold ? [] : [textOf(JSON.stringify(data))])],
  }
}

/** The error of a resource, which has no place for data from outside: our own words alone. */
export function resourceProblem(error: unknown, context: Pick<ServerContext, 'onError'>): Error {
  return new Error(toolProblem(error, context).content[0]!.text)
}

export function textOf(text: string) {
  return { type: 'text' as const, text }
}
