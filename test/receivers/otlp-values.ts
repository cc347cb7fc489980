// Values as OTLP writes them, in JSON and, decoded to the same shape, in protobuf.

/** uint64 is a text in JSON. */
export function nanoseconds(value: unknown): string {
  if (typeof value !== 'string' || !/^\d{1,20}$/.test(value)) throw new Error(`time ${String(value)}`)
  return value
}

/** Ids are hex in JSON, not base64. */
export function id(value: unknown, bytes: number): string {
  const text = value instanceof Buffer ? value.toString('hex') : (value ?? '')
  if (text === '') return ''
  if (typeof text !== 'string' || !/^[\da-f]+$/.test(text) || text.length !== bytes * 2) throw new Error('id')
  return text
}

export function anyValue(value: unknown): unknown {
  const entries = Object.entries((value ?? {}) as Record<string, unknown>)
  if (entries.length > 1) throw new Error('AnyValue with several values')
  const [kind, content] = entries[0] ?? []
  switch (kind) {
    case undefined:
      return null
    case 'stringValue':
      if (typeof content !== 'string') throw new Error('stringValue')
      return content
    case 'boolValue':
      if (typeof content !== 'boolean') throw new Error('boolValue')
      return content
    case 'doubleValue':
      if (typeof content !== 'number') throw new Error('doubleValue')
      return content
    case 'intValue':
      return int64(content)
    case 'bytesValue':
      return content instanceof Buffer ? content : Buffer.from(String(content), 'base64')
    case 'arrayValue':
      return listOf(content, 'values').map(anyValue)
    case 'kvlistValue':
      return keyValues(content, 'values')
    default:
      throw new Error(`AnyValue ${kind}`)
  }
}

/** As Go's JSON reader of a collector has it: digits of an int64, quoted or not; no fraction, no exponent. */
function int64(value: unknown): number {
  const digits = typeof value === 'number' ? JSON.stringify(value) : value
  if (typeof digits !== 'string' || !/^-?\d{1,19}$/.test(digits)) throw new Error(`intValue ${String(value)}`)
  if (BigInt.asIntN(64, BigInt(digits)) !== BigInt(digits)) throw new Error(`intValue ${digits}`)
  return Number(digits)
}

export function keyValues(from: unknown, name: string): Record<string, unknown> {
  const entries = listOf(from, name).map(entry => {
    // Both encodings may omit an empty text.
    const key = member(entry, 'key') ?? ''
    if (typeof key !== 'string') throw new Error('a key is not a text')
    return [key, anyValue(member(entry, 'value'))] as const
  })
  if (new Set(entries.map(([key]) => key)).size !== entries.length) throw new Error('a key twice')
  return Object.fromEntries(entries)
}

export function listOf(from: unknown, name: string): unknown[] {
  const list = member(from, name) ?? []
  if (!Array.isArray(list)) throw new Error(`${name} is no list`)
  return list
}

export function member(from: unknown, name: string): unknown {
  return (from as Record<string, unknown> | undefined)?.[name]
}
