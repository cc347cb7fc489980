import { withoutCredentials } from '../options/show.ts'

/**
 * A thrown value, read safely. Code can throw anything: null, a string, a frozen object, a proxy that throws on every
 * access. Each value is read once here, and the rest of this folder reads foreign values only with `property`.
 */
export interface Thrown {
  readonly value: unknown
  readonly name: string
  readonly message: string
  readonly code: string | undefined
}

export const NAME_MAX = 100
export const CODE_MAX = 100
export const MESSAGE_MAX = 2_000
export const STACK_MAX = 8_000

export function readThrown(value: unknown): Thrown {
  return { value, name: nameOf(value), message: messageOf(value), code: codeOf(value) }
}

/** Reads a property of a foreign value. A property that cannot be read counts as missing. */
export function property(value: unknown, key: PropertyKey): unknown {
  if ((typeof value !== 'object' || value === null) && typeof value !== 'function') return undefined
  try {
    return (value as Record<PropertyKey, unknown>)[key]
  } catch {
    return undefined
  }
}

/** The names of a foreign object's own properties. An object that cannot be read, such as a revoked proxy, has none. */
export function namesOf(value: unknown): readonly string[] {
  try {
    return Object.keys(value as object)
  } catch {
    return []
  }
}

export function textProperty(value: unknown, key: PropertyKey): string | undefined {
  const text = property(value, key)
  return typeof text === 'string' ? text : undefined
}

/** `instanceof` reads the prototype, and a proxy may throw then. */
export function isInstance<T>(value: unknown, ofClass: abstract new (...args: never[]) => T): value is T {
  try {
    return value instanceof ofClass
  } catch {
    return false
  }
}

/** `Array.isArray` throws for a revoked proxy. */
export function isArray(value: unknown): value is readonly unknown[] {
  try {
    return Array.isArray(value)
  } catch {
    return false
  }
}

/**
 * Cuts a text and makes it fit for every store: Postgres refuses NUL and half a surrogate pair, and a cut can create the
 * latter.
 */
export function bounded(text: string, max: number): string {
  const cut = text.length > max ? `${text.slice(0, max - 1)}…` : text
  return cut.toWellFormed().replaceAll('\0', '\uFFFD')
}

export function stackOf(value: unknown): string | undefined {
  const stack = textProperty(value, 'stack')
  return stack === undefined ? undefined : withoutSecrets(stack, STACK_MAX)
}

/** Removes credentials, because connection errors often quote their URL with the password. */
function withoutSecrets(text: string, max: number): string {
  return bounded(withoutCredentials(text.slice(0, max + 1)), max)
}

/** Names that a class inherits if its author sets none. The name of the constructor is then more precise. */
const UNINFORMATIVE_NAMES = new Set(['', 'Error', 'error', 'Object'])
/** Minified names have one or two letters and change with each build, so they would split a group. */
const CLASS_NAME = /^[A-Z][A-Za-z0-9_$]{2,99}$/

function nameOf(value: unknown): string {
  if (typeof value !== 'object' || value === null) return 'NonError'
  const own = textProperty(value, 'name') ?? ''
  if (!UNINFORMATIVE_NAMES.has(own)) return bounded(own, NAME_MAX)
  const constructorName = textProperty(property(value, 'constructor'), 'name') ?? ''
  if (!UNINFORMATIVE_NAMES.has(constructorName) && CLASS_NAME.test(constructorName)) return constructorName
  return own === '' ? 'NonError' : own
}

function messageOf(value: unknown): string {
  const text = typeof value === 'string' ? value : (textProperty(value, 'message') ?? describe(value))
  return withoutSecrets(text, MESSAGE_MAX)
}

/** The code may be a number: amqplib writes 404. */
function codeOf(value: unknown): string | undefined {
  const code = property(value, 'code')
  if (typeof code === 'number' && Number.isFinite(code)) return String(code)
  return typeof code === 'string' && code !== '' ? bounded(code, CODE_MAX) : undefined
}

const PRINTABLE_BIGINT = 2n ** 64n

function describe(value: unknown): string {
  switch (typeof value) {
    case 'function':
      return 'a function was thrown'
    case 'bigint':
      // Printing a bigint takes more than linear time: a million digits would block the process.
      return value < PRINTABLE_BIGINT && value > -PRINTABLE_BIGINT
        ? String(value)
        : 'a huge bigint was thrown'
    case 'object':
      return value === null ? 'null' : tagOf(value)
    default:
      return String(value)
  }
}

function tagOf(value: object): string {
  try {
    return Object.prototype.toString.call(value)
  } catch {
    return '[object Object]'
  }
}
