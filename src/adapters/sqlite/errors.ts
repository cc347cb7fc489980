import type { ErrorCode } from '../../core/failure/catalogue.ts'
import { LazaretError } from '../../core/failure/errors.ts'
import type { Trouble } from './connection/calls.ts'

interface Advice {
  readonly code: ErrorCode
  readonly retryable: boolean
  readonly remedy: string
}

/** SQLite's primary result codes, https://sqlite.org/rescode.html. */
const ADVICE: ReadonlyMap<number, Advice> = new Map([
  [
    5,
    advice('LAZARET_STORE_LOCKED', true, 'another process holds it for too long; end that one, or try again'),
  ],
  [
    6,
    advice('LAZARET_STORE_LOCKED', true, 'another process holds it for too long; end that one, or try again'),
  ],
  [8, advice('LAZARET_STORE_FAILED', false, 'let this process write the file and its folder')],
  [10, advice('LAZARET_STORE_FAILED', true, 'look after the disk; what was acknowledged before is kept')],
  [
    11,
    advice(
      'LAZARET_STORE_DAMAGED',
      false,
      'look after the disk and open it again; if it stays so, restore a copy, or save what can be read with `.recover` of sqlite3',
    ),
  ],
  [13, advice('LAZARET_STORE_FAILED', true, 'make room on the disk, then try again')],
  [
    14,
    advice(
      'LAZARET_STORE_FAILED',
      false,
      'see that its folder is there and that this process may write to it',
    ),
  ],
  [
    26,
    advice(
      'LAZARET_STORE_FOREIGN',
      false,
      'give the path of a Lazaret store, or of a file that is not there yet',
    ),
  ],
])
const BY_KIND = {
  newer: advice('LAZARET_STORE_NEWER', false, 'update Lazaret; nothing was changed'),
  foreign: advice(
    'LAZARET_STORE_FOREIGN',
    false,
    'give the path of a Lazaret store, or of a file that is not there yet',
  ),
  start: advice(
    'LAZARET_STORE_FAILED',
    true,
    'its thread could not start: see the cause, look after the disk that the program lies on, or please report it',
  ),
  bug: advice('LAZARET_STORE_FAILED', true, 'see the cause, and please report it'),
  sqlite: advice('LAZARET_STORE_FAILED', true, 'see the cause, then try again'),
} as const

/** The database did not do what it was asked. Nothing of the request was kept, and nothing that was before is lost. */
export class SqliteError extends LazaretError {
  override readonly name = 'SqliteError'
  readonly path: string

  constructor(path: string, trouble: Trouble) {
    const byCode = trouble.errcode === undefined ? undefined : ADVICE.get(trouble.errcode)
    const { code, retryable, remedy } = byCode ?? BY_KIND[trouble.kind]
    const cause = Object.assign(new Error(trouble.message), {
      errcode: trouble.errcode,
      stack: trouble.stack,
    })
    super(`store ${path}: ${trouble.message}; ${remedy}`, { code, retryable, cause })
    this.path = path
  }
}

function advice(code: ErrorCode, retryable: boolean, remedy: string): Advice {
  return { code, retryable, remedy }
}
