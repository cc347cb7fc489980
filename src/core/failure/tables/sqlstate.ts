import { again, type Classification, giveUp } from '../classification.ts'
import { property, type Thrown, textProperty } from '../thrown.ts'

const TRANSIENT = again('sqlstate', 'transient')
const BROKEN = again('sqlstate', 'integration')
const REFUSED = giveUp('sqlstate', 'integration')
const SCHEMA = giveUp('sqlstate', 'schema')
const BUSINESS = giveUp('sqlstate', 'business')

/** The first two characters are the class of the code in the SQL standard. */
const CLASSES: ReadonlyMap<string, Classification> = new Map([
  ['08', TRANSIENT], // connection
  ['0A', REFUSED], // feature not supported
  ['21', REFUSED], // cardinality
  ['22', SCHEMA], // data: too long, out of range, not a number
  ['23', BUSINESS], // integrity: duplicate, missing parent, check
  ['25', BROKEN], // transaction state
  ['26', BROKEN], // prepared statement is gone, as behind a pooler
  ['28', BROKEN], // login refused, for every event
  ['3D', BROKEN], // no such database
  ['40', TRANSIENT], // rolled back: serialization, deadlock
  ['42', REFUSED], // syntax, missing table, missing right
  ['44', BUSINESS], // view's check option
  ['53', TRANSIENT], // out of connections, memory, disk
  ['54', SCHEMA], // larger than the server can take
  ['55', REFUSED], // object not in the state it must be in
  ['57', TRANSIENT], // shut down, starting up, cancelled by a timeout
  ['58', BROKEN], // disk or system error of the server
  ['F0', BROKEN], // server's configuration file
  ['HV', BROKEN], // foreign data wrapper
  ['P0', BUSINESS], // raised by a function of the schema
  ['XX', BROKEN], // internal error
])

/** Codes that differ from their class. */
const EXCEPTIONS: ReadonlyMap<string, Classification> = new Map([
  ['25006', TRANSIENT], // read only: connected to a former primary
  ['25P03', TRANSIENT], // idle in transaction for too long
  ['40002', BUSINESS], // integrity, found at commit
  ['55006', TRANSIENT], // object in use
  ['55P03', TRANSIENT], // lock not available
])

/**
 * Codes that count without the mark of a driver, for errors that lost the shape of their driver. Any other five
 * characters may be numbers of the application ("40400"), so they need the mark.
 */
const KNOWN_BARE = new Set(
  (
    '08000 08001 08003 08004 08006 08P01 22001 22003 22007 22008 22P02 23502 23503 23505 23514 23P01 25006 25P03 28000 ' +
    '28P01 3D000 40001 40003 40P01 42501 42601 42703 42883 42P01 53000 53100 53200 53300 55006 55P03 57014 57P01 ' +
    '57P02 57P03 57P04 57P05 58000 58030 P0001 XX000 XX001 XX002'
  ).split(' '),
)

export function sqlstate(thrown: Thrown): Classification | undefined {
  const code = sqlstateOf(thrown)
  return code === undefined ? undefined : (EXCEPTIONS.get(code) ?? CLASSES.get(code.slice(0, 2)))
}

function sqlstateOf({ value, code }: Thrown): string | undefined {
  const named = textProperty(value, 'sqlState') ?? textProperty(value, 'sqlstate')
  if (isSqlstate(named)) return named
  if (!isSqlstate(code)) return undefined
  return KNOWN_BARE.has(code) || typeof property(value, 'severity') === 'string' ? code : undefined
}

function isSqlstate(code: string | undefined): code is string {
  return code?.length === 5 && /^[0-9A-Z]{5}$/.test(code)
}
