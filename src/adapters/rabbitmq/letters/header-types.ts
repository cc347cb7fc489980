import { bodyOf, longValue, readArray, readTable, tableBody } from '../broker/wire/table.ts'

/**
 * The AMQP type of a header's value, as JSON: the letter of the type, followed by `64` if the text is base64. Tables and
 * arrays contain the types of their entries. It contains no values: they are in the headers of the event, where masks and
 * seals apply.
 */
export type WireType =
  | string
  | { readonly F: Readonly<Record<string, WireType>> }
  | { readonly A: readonly WireType[] }

/** A value as text for people, and its type, from which the bytes can be made again. */
interface TypedText {
  readonly text: string
  readonly type: WireType
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Returns undefined if the text would not give the same bytes again. */
export function typedText(value: Buffer): TypedText | undefined {
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

/** A text that is not JSON stays one: such as a number that JSON cannot hold. */
export function plainOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
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
        // JSON would keep only the second of two entries with one name.
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
      return { plain: readScalar(letter, body), type: letter }
  }
}

function textOrBase64(letter: 'S' | 'x', body: Buffer) {
  try {
    const plain = UTF8.decode(body)
    if (!plain.includes('\0')) return { plain, type: letter }
  } catch {
    // The bytes are not a text, so they are shown as base64.
  }
  return { plain: body.toString('base64'), type: `${letter}64` }
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
  const bytes = Buffer.alloc(8)
  return Buffer.concat([Buffer.from(type), bytes.subarray(0, writeScalar(bytes, type, plain))])
}

// The methods of Buffer that read and write a number, by the letter of its type.
const INTEGERS = {
  b: ['readInt8', 'writeInt8'],
  B: ['readUInt8', 'writeUInt8'],
  s: ['readInt16BE', 'writeInt16BE'],
  u: ['readUInt16BE', 'writeUInt16BE'],
  I: ['readInt32BE', 'writeInt32BE'],
  i: ['readUInt32BE', 'writeUInt32BE'],
} as const
const LONG_INTEGERS = {
  l: ['readBigInt64BE', 'writeBigInt64BE'],
  T: ['readBigUInt64BE', 'writeBigUInt64BE'],
} as const
const REALS = { f: ['readFloatBE', 'writeFloatBE'], d: ['readDoubleBE', 'writeDoubleBE'] } as const

function isIn<T extends object>(table: T, letter: PropertyKey): letter is keyof T {
  return Object.hasOwn(table, letter)
}

function readScalar(letter: string, body: Buffer): unknown {
  if (isIn(INTEGERS, letter)) return body[INTEGERS[letter][0]]()
  if (isIn(LONG_INTEGERS, letter)) {
    const value = body[LONG_INTEGERS[letter][0]]()
    return Number.isSafeInteger(Number(value)) ? Number(value) : String(value)
  }
  if (isIn(REALS, letter)) {
    const value = body[REALS[letter][0]]()
    return Object.is(value, -0) ? '-0' : Number.isFinite(value) ? value : String(value)
  }
  if (letter === 'V') return null
  if (letter === 't') return body[0] !== 0
  if (letter === 'D') return { places: body[0], digits: body.readUInt32BE(1) }
  throw new TypeError(`no type of AMQP: ${letter}`)
}

/** Answers how many bytes it wrote. Throws when the value is not of the type. */
function writeScalar(bytes: Buffer, letter: string, plain: unknown): number {
  if (isIn(INTEGERS, letter) && Number.isSafeInteger(plain))
    return bytes[INTEGERS[letter][1]](plain as number)
  if (isIn(LONG_INTEGERS, letter) && /^-?\d+$/.test(String(plain)))
    return bytes[LONG_INTEGERS[letter][1]](BigInt(plain as number | string))
  if (isIn(REALS, letter) && isReal(plain)) return bytes[REALS[letter][1]](Number(plain))
  if (letter === 'V' && plain === null) return 0
  if (letter === 't' && typeof plain === 'boolean') return bytes.writeUInt8(plain ? 1 : 0)
  if (letter === 'D') {
    const { places, digits } = plain as { readonly places: number; readonly digits: number }
    return bytes.writeUInt32BE(digits, bytes.writeUInt8(places))
  }
  throw new TypeError(`not a value of type ${letter}`)
}

function isReal(plain: unknown): boolean {
  return typeof plain === 'number' || (typeof plain === 'string' && /^-?(?:0|Infinity)$|^NaN$/.test(plain))
}
