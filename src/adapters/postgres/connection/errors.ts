import type { ErrorCode } from '../../../core/failure/catalogue.ts'
import { classify } from '../../../core/failure/classify.ts'
import { LazaretError } from '../../../core/failure/errors.ts'
import { withoutCredentials } from '../../../core/options/show.ts'

const MIGRATE = 'bring the schema up to date with: lazaret outbox migrate'

/** By SQLSTATE or by the code of a system error; the longest beginning that fits counts. */
const REMEDIES: readonly (readonly [beginning: string, remedy: string])[] = [
  ['42P01', MIGRATE],
  ['42703', MIGRATE],
  ['42883', MIGRATE],
  ['3F000', MIGRATE],
  ['42501', 'grant the role of this connection what it needs on schema lazaret'],
  ['28', 'give a role and a password that the server takes'],
  ['3D000', 'give the name of a database that is there'],
  ['53', 'give the server more room or more connections, then try again'],
  ['40', 'try again; with default_transaction_isolation = read committed this is rare'],
  ['ECONN', 'see that the server runs and can be reached from here'],
  ['ENOTFOUND', 'give the name of a server that can be reached from here'],
]
const OUTDATED = new Set(['42P01', '42703', '42883', '3F000'])

/** The database did not do what it was asked. Nothing of the statement was kept, and nothing that was before is lost. */
export class PostgresError extends LazaretError {
  override readonly name = 'PostgresError'
  /** The SQLSTATE, where the server has spoken. */
  readonly sqlstate: string | undefined

  constructor(doing: string, cause: unknown) {
    const { message, code } = cause as { readonly message?: unknown; readonly code?: unknown }
    const state = typeof code === 'string' ? code : ''
    const said = withoutCredentials(typeof message === 'string' && message !== '' ? message : String(cause))
    super(`postgres: ${doing}: ${said}; ${remedyFor(state)}`, {
      code: codeFor(state),
      retryable: classify(cause).retryable,
      cause,
    })
    this.sqlstate = /^[\dA-Z]{5}$/.test(state) ? state : undefined
  }
}

/** The schema is not there, or not the one this version works with. Nothing was changed. */
export class PostgresSchemaError extends LazaretError {
  override readonly name = 'PostgresSchemaError'

  constructor(found: number, known: number) {
    const isNewer = found > known
    const what = found === 0 ? 'is not there' : `is version ${found} and this Lazaret knows ${known}`
    super(`postgres: schema lazaret ${what}; ${isNewer ? 'update Lazaret' : MIGRATE}`, {
      code: isNewer ? 'LAZARET_STORE_NEWER' : 'LAZARET_STORE_OUTDATED',
      retryable: false,
    })
  }
}

/** The client library is an optional peer. */
export class ClientMissingError extends LazaretError {
  override readonly name = 'ClientMissingError'

  constructor(cause: unknown) {
    super('pg: cannot be loaded; install it beside lazaret: npm install pg', {
      code: 'LAZARET_CLIENT_MISSING',
      retryable: false,
      cause,
    })
  }
}

function remedyFor(code: string): string {
  const found = REMEDIES.find(([beginning]) => code.startsWith(beginning))
  return found?.[1] ?? 'see the cause, then try again'
}

function codeFor(sqlstate: string): ErrorCode {
  return OUTDATED.has(sqlstate) ? 'LAZARET_STORE_OUTDATED' : 'LAZARET_STORE_FAILED'
}
