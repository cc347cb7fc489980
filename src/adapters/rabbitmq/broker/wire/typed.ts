import { bodyOf, longValue, readArray, readTable, tableBody } from './table.ts'

/**
 * The type of a header's value on the wire, as JSON: the letter that AMQP has for it, with `64` behind it where the text holds
 * base64; of tables and arrays also the types of what is in them. Values are not in it: they are in the event's
 * headers, where masks and seals reach them.
 */
export type WireType =
  | string
  | { readonly F: Readonly<Record<string, WireType>> }
  | { readonly A: readonly WireType[] }

/** A value as text for people, and its type, from which the bytes can be made again. */
interface Typed {
  readonly text: string
  readonly type: WireType
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Undefined for what would not come back as the same bytes. */
export function typedText(value: Buffer): Typed | undefined {
  try {
    const { plain, type } = toPlain(value)
    const text = plain === null ? '' : typeof plain === 'string' ? plain : JSON.stringify(plain)
    return fromText(text, type)?.equals(value) ? { text, type } : undefined
  } catch {
    return undefined
  }
}

/** The bytes of a value with this text; undefined when the text does not fit the type, as after an edit. */
export function fromText(text: string, type: WireType): Buffer | undefined {
  try {
    if (type === 'V') return text === '' ? Buffer.from('V') : undefined
    // A whole number of 64 bits is more than JSON's numbers can hold.
    const isText = typeof type === 'string' && /^[SxlT]/.test(type)
    return fromPlain(isText ? text : plainOf(text), type)
  } catch {
    return undefined
  }
}

function plainOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // A number that JSON cannot hold is a text, and so is one that is too long for a number.
    return text
  }
}

function toPlain(value: Buffer): { readonly plain: unknown; readonly type: WireType } {
  const letter = String.fromCharCode(value[0]!)
  const body = bodyOf(value)
  switch (letter) {
    case 'S':
    case 'x':
      return textOrBase64(letter, body)
    case 'F': {
      const plain: Record<string, unknown> = Object.create(null)
      const types: Record<string, WireType> = Object.create(null)
      for (const entry of readTable(body)) {
        // Of two with one name JSON would keep the second.
        if (entry.name in plain) throw new TypeError('a name that is there twice')
        const inner = toPlain(entry.value)
        plain[entry.name] = inner.plain
        types[entry.name] = inner.type
      }
      return { plain, type: { F: types } }
    }
    case 'A': {
      const inner = readArray(body).map(toPlain)
      return { plain: inner.map(({ plain }) => plain), type: { A: inner.map(({ type }) => type) } }
    }
    default:
      return { plain: scalar(letter, body), type: letter }
  }
}

function textOrBase64(letter: 'S' | 'x', body: Buffer) {
  try {
    const plain = UTF8.decode(body)
    if (!plain.includes('\0')) return { plain, type: letter }
  } catch {
    // Not a text, so that it is shown as base64.
  }
  return { plain: body.toString('base64'), type: `${letter}64` }
}

function scalar(letter: string, body: Buffer): unknown {
  switch (letter) {
    case 'V':
      return null
    case 't':
      return body[0] !== 0
    case 'b':
      return body.readInt8()
    case 'B':
      return body.readUInt8()
    case 's':
      return body.readInt16BE()
    case 'u':
      return body.readUInt16BE()
    case 'I':
      return body.readInt32BE()
    case 'i':
      return body.readUInt32BE()
    case 'l':
      return exact(body.readBigInt64BE())
    case 'T':
      return exact(body.readBigUInt64BE())
    case 'f':
      return real(body.readFloatBE())
    case 'd':
      return real(body.readDoubleBE())
    case 'D':
      return { places: body[0], digits: body.readUInt32BE(1) }
    default:
      throw new TypeError(`no type of AMQP: ${letter}`)
  }
}

function exact(value: bigint): number | string {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : String(value)
}

function real(value: number): number | string {
  if (Object.is(value, -0)) return '-0'
  return Number.isFinite(value) ? value : String(value)
}

function fromPlain(plain: unknown, type: WireType): Buffer {
  if (typeof type !== 'string') {
    if ('A' in type) {
      const values = plain as readonly unknown[]
      if (!Array.isArray(plain) || plain.length !== type.A.length) throw new TypeError('another length')
      return longValue('A', Buffer.concat(type.A.map((inner, index) => fromPlain(values[index], inner))))
    }
    const table = plain as Readonly<Record<string, unknown>>
    const names = Object.keys(type.F)
    if (Object.keys(table).length !== names.length) throw new TypeError('other names')
    const entries = names.map(name => {
      if (!Object.hasOwn(table, name)) throw new TypeError(`without ${name}`)
      return { name, value: fromPlain(table[name], type.F[name]!) }
    })
    return longValue('F', tableBody(entries))
  }
  if (type === 'S' || type === 'x') return longValue(type, Buffer.from(plain as string))
  if (type === 'S64' || type === 'x64')
    return longValue(type.startsWith('S') ? 'S' : 'x', Buffer.from(plain as string, 'base64'))
  return Buffer.concat([Buffer.from(type), fromScalar(plain, type)])
}

function fromScalar(plain: unknown, letter: string): Buffer {
  const bytes = Buffer.alloc(8)
  const upTo = (end: number) => bytes.subarray(0, end)
  const number = typeof plain === 'string' ? Number(plain) : (plain as number)
  switch (letter) {
    case 'V':
      if (plain !== null) throw new TypeError('not null')
      return upTo(0)
    case 't':
      if (typeof plain !== 'boolean') throw new TypeError('not a boolean')
      return upTo(bytes.writeUInt8(plain ? 1 : 0))
    case 'D': {
      const { places, digits } = plain as { readonly places: number; readonly digits: number }
      return upTo(bytes.writeUInt32BE(digits, bytes.writeUInt8(places)))
    }
    case 'l':
      return upTo(bytes.writeBigInt64BE(wholeNumber(plain)))
    case 'T':
      return upTo(bytes.writeBigUInt64BE(wholeNumber(plain)))
    case 'f':
      return upTo(bytes.writeFloatBE(requireNumber(plain, number)))
    case 'd':
      return upTo(bytes.writeDoubleBE(requireNumber(plain, number)))
    default:
      return upTo(integer(bytes, letter, requireInteger(plain)))
  }
}

function integer(bytes: Buffer, letter: string, value: number): number {
  if (letter === 'b') return bytes.writeInt8(value)
  if (letter === 'B') return bytes.writeUInt8(value)
  if (letter === 's') return bytes.writeInt16BE(value)
  if (letter === 'u') return bytes.writeUInt16BE(value)
  if (letter === 'I') return bytes.writeInt32BE(value)
  if (letter === 'i') return bytes.writeUInt32BE(value)
  throw new TypeError(`no type of AMQP: ${letter}`)
}

function wholeNumber(plain: unknown): bigint {
  if (!/^-?\d+$/.test(String(plain))) throw new TypeError('not a whole number')
  return BigInt(plain as number | string)
}

function requireInteger(plain: unknown): number {
  if (!Number.isSafeInteger(plain)) throw new TypeError('not an integer')
  return plain as number
}

function requireNumber(plain: unknown, number: number): number {
  const isNumber =
    typeof plain === 'number' || (typeof plain === 'string' && /^-?(?:0|Infinity)$|^NaN$/.test(plain))
  if (!isNumber) throw new TypeError('not a number')
  return number
}
