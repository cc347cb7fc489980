import { isPlainObject } from './plain.ts'
import { jsonTextBytes } from './text.ts'

/**
 * The bytes of a payload's JSON text, or NaN when something about it may be wrong. Nearly every payload is right, and
 * finding that out costs a fraction of the walk that can say where and why one is not.
 */
export function bytesIfRight(value: unknown, levels: number, room: number): number {
  try {
    return measure(value, levels, room)
  } catch {
    return Number.NaN
  }
}

function measure(value: unknown, levels: number, room: number): number {
  switch (typeof value) {
    case 'string':
      return value.length > room ? Number.NaN : jsonTextBytes(value)
    case 'boolean':
      return value ? 4 : 5
    case 'number':
      return Number.isFinite(value) ? String(value).length : Number.NaN
    case 'object':
      if (value === null) return 4
      if (levels === 0 || 'toJSON' in value) return Number.NaN
      return Array.isArray(value)
        ? measureArray(value, levels - 1, room)
        : measureObject(value, levels - 1, room)
    default:
      return Number.NaN
  }
}

function measureArray(value: readonly unknown[], levels: number, room: number): number {
  const isPlain =
    Object.getPrototypeOf(value) === Array.prototype && Object.keys(value).length === value.length
  if (!isPlain) return Number.NaN
  let bytes = 2
  for (let index = 0; index < value.length; index++) {
    bytes += (index > 0 ? 1 : 0) + measure(value[index], levels, room)
    if (!(bytes <= room)) return Number.NaN
  }
  return bytes
}

function measureObject(value: object, levels: number, room: number): number {
  if (!isPlainObject(value) || Object.getOwnPropertySymbols(value).length > 0) return Number.NaN
  let bytes = 2
  let members = 0
  for (const name of Object.keys(value)) {
    const member = value[name]
    if (member === undefined) continue
    bytes += (members++ > 0 ? 1 : 0) + jsonTextBytes(name) + 1 + measure(member, levels, room)
    if (!(bytes <= room)) return Number.NaN
  }
  return bytes
}
