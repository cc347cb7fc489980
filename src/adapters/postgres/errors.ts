import { classify } from '../../core/failure/classify.ts'
import { LazaretError } from '../../core/failure/errors.ts'
import { withoutCredentials } from '../../core/options/show.ts'

const MIGRATE = 'bring the schema up to date with: lazaret outbox migrate'

/** The remedies by the beginning of a SQLSTATE or a system error code. The first match counts. */
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
  ['ECONN', 'check that the server runs and that this machine can reach it'],
  ['ENOTFOUND', 'give the name of a server that can be reached from here'],
]

/** A statement failed. None of its changes were kept, and nothing that was there before is lost. */
export class PostgresError extends LazaretError {
  override readonly name = 'PostgresError'
  /** Undefined if the error does not come from the server. */
  readonly sqlstate: string | undefined

  constructor(doing: string, cause: unknown) {
    const { message, code } = cause as { readonly message?: unknown; readonly code?: unknown }
    const state = typeof code === 'string' ? code : ''
    const said = withoutCredentials(typeof message === 'string' && message !== '' ? message : String(cause))
    const remedy = REMEDIES.find(([beginning]) => state.startsWith(beginning))?.[1]
    super(`postgres: ${doing}: ${said}; ${remedy ?? 'check the cause, then try again'}`, {
      code: remedy === MIGRATE ? 'LAZARET_STORE_OUTDATED' : 'LAZARET_STORE_FAILED',
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
