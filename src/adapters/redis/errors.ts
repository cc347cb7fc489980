import type { ErrorCode } from '../../core/failure/catalogue.ts'
import { classify } from '../../core/failure/classify.ts'
import { LazaretError } from '../../core/failure/errors.ts'
import { withoutCredentials } from '../../core/options/show.ts'

/**
 * Why a command got no result.
 * - `reply`: the server answered with an error and did nothing.
 * - `unreachable`: no connection within the timeout; nothing was sent.
 * - `lost`: the connection broke before the answer. The server may have executed the command or not.
 * - `silent`: no answer within the timeout. The server may still execute the command.
 */
export type RedisErrorKind = 'reply' | 'unreachable' | 'lost' | 'silent'

/** The remedies by the first word of the reply. */
const REMEDIES: ReadonlyMap<string, string> = new Map([
  ['OOM', 'raise maxmemory, or free memory: discard, replay or expire letters'],
  ['READONLY', 'this server is a replica; connect to the primary'],
  ['LOADING', 'the server is loading its data; wait, then try again'],
  ['CLUSTERDOWN', 'check that every cluster slot has a node: redis-cli --cluster check'],
  ['TRYAGAIN', 'the cluster is moving this slot to another node; try again when the move is complete'],
  ['CROSSSLOT', 'give a prefix without braces'],
  ['MOVED', 'this server is a cluster node; pass a cluster client (createCluster)'],
  ['NOAUTH', 'give a password: redis://user:password@host'],
  ['WRONGPASS', 'check the user and the password'],
  ['NOPERM', 'grant the user the commands and keys it needs (ACL SETUSER)'],
  ['MISCONF', 'the server cannot write to its disk; free disk space, then check its log'],
  ['NOREPLICAS', 'check that enough replicas are connected (min-replicas-to-write)'],
  ['WRONGTYPE', 'another program uses this prefix; choose another prefix'],
  ['BUSY', 'a script blocks the server; stop it with SCRIPT KILL'],
])
const REMEDY_BY_KIND: Readonly<Record<Exclude<RedisErrorKind, 'reply'>, string>> = {
  unreachable: 'check that the server runs and that this machine can reach it',
  lost: 'the result is unknown; try again',
  silent: 'the result is unknown; check what blocks the server, then try again',
}

/** The server did not execute a command, or the result is unknown. */
export class RedisError extends LazaretError {
  override readonly name = 'RedisError'
  readonly kind: RedisErrorKind
  /** The first word of the server's error, such as `OOM`, if it answered with one. */
  readonly reply: string | undefined

  constructor(doing: string, kind: RedisErrorKind, cause: unknown) {
    const message = cause instanceof Error && cause.message !== '' ? cause.message : String(cause)
    const said = withoutCredentials(message)
    const reply = kind === 'reply' ? wordOf(said) : undefined
    super(`redis: ${doing}: ${said}; ${remedyFor(kind, reply)}`, {
      code: 'LAZARET_STORE_FAILED' satisfies ErrorCode,
      retryable: kind !== 'reply' || classify(cause).retryable,
      cause,
    })
    this.kind = kind
    this.reply = reply
  }
}

/** The server answers, and cannot be used. */
export class RedisServerError extends LazaretError {
  override readonly name = 'RedisServerError'

  constructor(problem: string, remedy: string) {
    super(`redis: the server ${problem}; ${remedy}`, { code: 'LAZARET_STORE_FAILED', retryable: false })
  }
}

/** Whether the server answered with an error. Clients mark such errors by their class. */
export function isReplyError(error: unknown): error is Error {
  return (
    classify(error).decidedBy === 'redis-reply' ||
    /^(?:ErrorReply|SimpleError|BlobError|ReplyError)$/.test(className(error))
  )
}

/** Whether the client has refused it by itself, before anything went out. */
export function isNeverSent(error: unknown): boolean {
  return /^Client(?:Offline|Closed)Error$/.test(className(error))
}

/** Before version 7 the error of a command in a script is part of a longer text. */
function wordOf(message: string): string | undefined {
  const wrapped = /^ERR Error running script .*?: -?([A-Z]+) /.exec(message)
  return (wrapped ?? /^([A-Z]+)(?= |$)/.exec(message))?.[1]
}

function remedyFor(kind: RedisErrorKind, reply: string | undefined): string {
  if (kind !== 'reply') return REMEDY_BY_KIND[kind]
  return REMEDIES.get(reply ?? '') ?? 'check the cause, then try again'
}

function className(error: unknown): string {
  return error instanceof Error ? error.constructor.name : ''
}
