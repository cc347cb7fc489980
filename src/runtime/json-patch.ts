import type { JsonValue } from '../core/event/event.ts'
import { isBytes } from '../core/event/plain.ts'
import { LazaretError } from '../core/failure/errors.ts'
import { group } from '../core/options/resolve.ts'
import { custom, list, oneOf, optional, type Rule } from '../core/options/rules.ts'
import type { PatchOperation } from '../ports/replays.ts'

type Container = JsonValue[] | Record<string, JsonValue>

/** The greatest size of all values together that one patch copies, in characters. */
const MAX_COPIED = 1_048_576
/** The size of a value beside its text. An empty object takes about as much memory. */
const VALUE_SIZE = 16

const operation = group({
  op: oneOf('add', 'remove', 'replace', 'move', 'copy', 'test'),
  path: custom(
    (value): value is string => typeof value === 'string',
    "give a path such as '/amount', or '' for all",
  ),
  from: optional(custom((value): value is string => typeof value === 'string', 'give a path')),
  value: optional(
    custom((value): value is PatchOperation['value'] => value !== undefined, 'give a JSON value'),
  ),
}) as Rule<PatchOperation>

/** The rule for a patch in options. */
export const patchRule = list(operation, { minItems: 1, maxItems: 100 })

/** A patch that does not fit the document, or is not a valid patch. The document is untouched. */
export class PatchError extends LazaretError {
  override readonly name = 'PatchError'

  constructor(index: number, operation: PatchOperation, problem: string) {
    super(`patch operation ${index + 1} (${operation.op} ${operation.path}): ${problem}`, {
      code: 'LAZARET_PATCH_INVALID',
      retryable: false,
    })
  }
}

/** Limits what a patch copies. A document that is copied into itself doubles with each operation. */
export class CopyLimit {
  #left = MAX_COPIED

  require(value: JsonValue): void {
    this.#left -= sizeUpTo(value, this.#left)
    if (this.#left < 0) throw new Error(`the patch copies more than ${MAX_COPIED} characters; copy less`)
  }
}

/** Applies a JSON Patch (RFC 6902): all operations or none. The document given is never changed. */
export function applyPatch(document: JsonValue, patch: readonly PatchOperation[]): JsonValue {
  return applyOperations(document, patch, new CopyLimit())
}

/** The same for a caller that applies the operations of a patch one by one, with one limit for all of them. */
export function applyOperations(
  document: JsonValue,
  patch: readonly PatchOperation[],
  copies: CopyLimit,
): JsonValue {
  // A holder makes the whole document reachable by the same path logic as any part of it.
  const holder: Record<string, JsonValue> = { root: structuredClone(document) as JsonValue }
  for (const [index, operation] of patch.entries()) {
    try {
      applyOne(holder, operation, copies)
    } catch (error) {
      throw new PatchError(index, operation, (error as Error).message)
    }
  }
  return holder['root']!
}

function applyOne(
  holder: Record<string, JsonValue>,
  { op, path, from, value }: PatchOperation,
  copies: CopyLimit,
): void {
  switch (op) {
    case 'add':
      add(holder, path, ownValue(value))
      break
    case 'remove':
      remove(holder, path)
      break
    case 'replace':
      read(holder, path)
      replace(holder, path, ownValue(value))
      break
    case 'move': {
      const source = requiredFrom(from)
      if (path.startsWith(`${source}/`)) throw new Error('a value cannot be moved into itself')
      const moved = read(holder, source)
      remove(holder, source)
      add(holder, path, moved)
      break
    }
    case 'copy': {
      const copied = read(holder, requiredFrom(from))
      copies.require(copied)
      add(holder, path, structuredClone(copied) as JsonValue)
      break
    }
    case 'test':
      if (!equals(read(holder, path), required(value))) throw new Error('the value differs')
      break
    default:
      throw new Error('unknown operation; use add, remove, replace, move, copy or test')
  }
}

function required(value: JsonValue | undefined): JsonValue {
  if (value === undefined) throw new Error('the value is missing')
  return value
}

/** A copy of the value in the patch: later operations may change it, and the patch serves many letters. */
function ownValue(value: JsonValue | undefined): JsonValue {
  return structuredClone(required(value)) as JsonValue
}

function requiredFrom(from: string | undefined): string {
  if (from === undefined) throw new Error('from is missing')
  return from
}

/** `/a~1b/0` is ['root', 'a/b', '0']; '' is the whole document. */
function tokens(path: string): string[] {
  if (path !== '' && !path.startsWith('/')) throw new Error("a path must be '' or begin with /")
  const parts = path.split('/').slice(1)
  return ['root', ...parts.map(part => part.replaceAll('~1', '/').replaceAll('~0', '~'))]
}

function parentOf(holder: Container, path: string): { parent: Container; key: string } {
  const steps = tokens(path)
  const key = steps.pop()!
  let parent: JsonValue = holder as JsonValue
  for (const step of steps) parent = member(parent, step)
  if (typeof parent !== 'object' || parent === null)
    throw new Error('the parent is neither an object nor an array')
  requireFields(parent)
  return { parent: parent as Container, key }
}

function member(value: JsonValue, key: string): JsonValue {
  requireFields(value)
  if (Array.isArray(value)) return value[arrayIndex(key, value.length - 1)]!
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key))
    throw new Error('path not found')
  return (value as Record<string, JsonValue>)[key]!
}

/** A write to a field of bytes would be lost, or would change one byte of an encoded text. */
function requireFields(value: unknown): void {
  if (isBytes(value)) throw new Error('bytes have no fields; replace the whole payload')
}

function arrayIndex(key: string, last: number): number {
  if (!/^(0|[1-9]\d*)$/.test(key) || Number(key) > last) throw new Error('path not found')
  return Number(key)
}

function read(holder: Container, path: string): JsonValue {
  const { parent, key } = parentOf(holder, path)
  return member(parent as JsonValue, key)
}

function add(holder: Container, path: string, value: JsonValue): void {
  const { parent, key } = parentOf(holder, path)
  if (Array.isArray(parent))
    parent.splice(key === '-' ? parent.length : arrayIndex(key, parent.length), 0, value)
  else define(parent, key, value)
}

function replace(holder: Container, path: string, value: JsonValue): void {
  const { parent, key } = parentOf(holder, path)
  if (Array.isArray(parent)) parent[arrayIndex(key, parent.length - 1)] = value
  else define(parent, key, value)
}

function remove(holder: Container, path: string): void {
  const { parent, key } = parentOf(holder, path)
  member(parent as JsonValue, key)
  if (path === '') throw new Error('the whole document cannot be removed')
  if (Array.isArray(parent)) parent.splice(arrayIndex(key, parent.length - 1), 1)
  else delete parent[key]
}

/** As data, also when the name is `__proto__`. */
function define(target: Record<string, JsonValue>, key: string, value: JsonValue): void {
  Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true })
}

/** Whether both are the same JSON, whatever the order of their fields. */
export function equals(a: JsonValue, b: JsonValue): boolean {
  if (a === b) return true
  if (isBytes(a) && isBytes(b)) return Buffer.compare(a, b) === 0
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (Array.isArray(a) !== Array.isArray(b)) return false
  const [left, right] = [a as Record<string, JsonValue>, b as Record<string, JsonValue>]
  const keys = Object.keys(left)
  if (keys.length !== Object.keys(right).length) return false
  return keys.every(key => Object.hasOwn(right, key) && equals(left[key]!, right[key]!))
}

/** Returns the size of a value. It stops counting behind `most`, and works without recursion. */
function sizeUpTo(value: JsonValue, most: number): number {
  const left: unknown[] = [value]
  let size = 0
  while (left.length > 0 && size <= most) {
    const each = left.pop()
    size += VALUE_SIZE + (typeof each === 'string' ? each.length : 0)
    if (typeof each !== 'object' || each === null) continue
    for (const [name, inside] of Object.entries(each)) {
      size += name.length
      left.push(inside)
    }
  }
  return size
}
