import { TransitionError } from '../core/dead-letter/transition.ts'
import { LazaretError } from '../core/failure/errors.ts'
import { OptionsError } from '../core/options/faults.ts'
import { withoutCredentials } from '../core/options/show.ts'
import { UnknownActionError } from './demo-control.ts'
import type { InputFault, Problem } from './schema/problem.ts'

/** Every kind of problem with its status and title. Clients match the kind in `type`, so it is never renamed. */
const KINDS = {
  'invalid-request': [400, 'Invalid request'],
  unauthenticated: [401, 'Authentication required'],
  forbidden: [403, 'Permission denied'],
  'cross-site': [403, 'Cross-site request refused'],
  'not-found': [404, 'Not found'],
  'method-not-allowed': [405, 'Method not allowed'],
  conflict: [409, 'Conflict with the current state'],
  'too-large': [413, 'Request body too large'],
  'wrong-media-type': [415, 'Request body is not JSON'],
  'wrong-host': [421, 'Unknown host name'],
  unprocessable: [422, 'Request cannot be carried out'],
  'too-many-requests': [429, 'Too many requests'],
  'server-fault': [500, 'Internal server error'],
  unavailable: [503, 'Store unreachable'],
} as const satisfies Readonly<Record<string, readonly [number, string]>>

type ProblemKind = keyof typeof KINDS
export const PROBLEM_TYPE = 'application/problem+json'

/** Thrown anywhere in a request, and answered as problem details (RFC 9457). `detail` says what to do. */
export class ProblemError extends Error {
  override readonly name = 'ProblemError'
  readonly kind: ProblemKind
  readonly faults: readonly InputFault[]
  readonly headers: Readonly<Record<string, string>>

  constructor(
    kind: ProblemKind,
    detail: string,
    more: {
      readonly faults?: readonly InputFault[]
      readonly headers?: Readonly<Record<string, string>>
    } = {},
  ) {
    super(detail)
    this.kind = kind
    this.faults = more.faults ?? []
    this.headers = more.headers ?? {}
  }
}

/** Converts an error to a problem. The details of an unexpected error go to the server log and not to the caller. */
export function problemOf(error: unknown): ProblemError {
  if (error instanceof ProblemError) return error
  if (error instanceof OptionsError)
    return new ProblemError('invalid-request', 'Fix the fields listed in faults.', { faults: error.faults })
  if (error instanceof TransitionError) return new ProblemError('conflict', error.message)
  if (error instanceof UnknownActionError) return new ProblemError('not-found', error.message)
  if (error instanceof LazaretError) {
    if (error.code === 'LAZARET_REPLAY_REFUSED' || error.code === 'LAZARET_PLAN_CANCELLED')
      return new ProblemError('conflict', error.message)
    if (error.code === 'LAZARET_PATCH_INVALID' || error.code === 'LAZARET_REPLAY_EMPTY')
      return new ProblemError('unprocessable', error.message)
    // Its message quotes what was stored.
    if (error.code === 'LAZARET_LETTER_INVALID')
      return new ProblemError(
        'unprocessable',
        'The stored letter cannot be read: another program or another version wrote it. Read it in the store itself, or delete it.',
      )
    if (/STORE|DEAD_LETTERS|BROKER/.test(error.code))
      return new ProblemError('unavailable', withoutCredentials(error.message))
  }
  return new ProblemError(
    'server-fault',
    'The server failed unexpectedly. Retry; if the error stays, check the server log.',
  )
}

export function problemResponse(error: ProblemError, instance: string): Response {
  const [status, title] = KINDS[error.kind]
  const body: Problem = {
    type: `urn:lazaret:problem:${error.kind}`,
    title,
    status,
    detail: error.message,
    instance,
    ...(error.faults.length === 0 ? {} : { faults: [...error.faults] }),
  }
  return new Response(JSON.stringify(body), {
    status,
    headers: { 'content-type': PROBLEM_TYPE, 'cache-control': 'no-store', ...error.headers },
  })
}

export function notFound(what: string, id: string): ProblemError {
  return new ProblemError('not-found', `No ${what} has the ID ${id.slice(0, 100)}. It may have been deleted.`)
}
