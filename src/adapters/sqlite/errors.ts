import { FILE_GONE_REMEDY } from '../../adapter-kit/opened-file.ts'
import type { ErrorCode } from '../../core/failure/catalogue.ts'
import { LazaretError } from '../../core/failure/errors.ts'
import type { Failure } from './connection/messages.ts'

type Advice = readonly [code: ErrorCode, retryable: boolean, remedy: string]

const LOCKED: Advice = [
  'LAZARET_STORE_LOCKED',
  true,
  'another process has locked the file for too long; stop that process, or try again',
]
const FOREIGN: Advice = ['LAZARET_STORE_FOREIGN', false, 'give the path of a Lazaret store, or of a new file']

const DAMAGED: Advice = [
  'LAZARET_STORE_DAMAGED',
  false,
  'check the disk and open the store again; if it still fails, restore a copy, or save the readable data with `.recover` of sqlite3',
]

/** SQLite's primary result codes, https://sqlite.org/rescode.html. */
const BY_CODE: Readonly<Record<number, Advice>> = {
  5: LOCKED,
  6: LOCKED,
  8: ['LAZARET_STORE_FAILED', false, 'give this process write permission for the file and its folder'],
  10: ['LAZARET_STORE_FAILED', true, 'check the disk; acknowledged data is kept'],
  11: DAMAGED,
  13: ['LAZARET_STORE_FAILED', true, 'free disk space, then try again'],
  14: ['LAZARET_STORE_FAILED', false, 'check that the folder exists and that this process may write to it'],
  26: FOREIGN,
}
const BY_KIND: Readonly<Record<Failure['kind'], Advice>> = {
  newer: ['LAZARET_STORE_NEWER', false, 'update Lazaret; the file was not changed'],
  foreign: FOREIGN,
  damaged: DAMAGED,
  gone: ['LAZARET_STORE_FAILED', true, FILE_GONE_REMEDY],
  start: [
    'LAZARET_STORE_FAILED',
    true,
    'its thread could not start: see the cause, check the disk of the program, and keep the package `lazaret` out of bundles',
  ],
  bug: ['LAZARET_STORE_FAILED', true, 'check the cause and report it as a bug'],
  sqlite: ['LAZARET_STORE_FAILED', true, 'check the cause, then try again'],
}

/** A database operation failed. Nothing of the request was stored, and everything from before is still there. */
export class SqliteError extends LazaretError {
  override readonly name = 'SqliteError'
  readonly path: string

  constructor(path: string, { kind, message, errcode, stack }: Failure) {
    const [code, retryable, remedy] = (errcode === undefined ? undefined : BY_CODE[errcode]) ?? BY_KIND[kind]
    const cause = Object.assign(new Error(message), { errcode, stack })
    super(`store ${path}: ${message}; ${remedy}`, { code, retryable, cause })
    this.path = path
  }
}
