import type { OtlpFormat } from './exporter.ts'

/** The part of a success that reports refused records. It has their number, but does not name them. */
export interface PartialSuccess {
  readonly rejected: number
  readonly message: string
}

const NONE: PartialSuccess = Object.freeze({ rejected: 0, message: '' })

/** Reads the body of a success. An unreadable body reports nothing, because the status already reports the success. */
export function readPartialSuccess(format: OtlpFormat, body: Buffer): PartialSuccess {
  if (body.length === 0) return NONE
  try {
    return format === 'json' ? fromJson(body) : fromProtobuf(body)
  } catch {
    return NONE
  }
}

/** JSON writes an int64 as text; some servers write a number. */
function fromJson(body: Buffer): PartialSuccess {
  const { partialSuccess } = JSON.parse(body.toString('utf8')) as {
    readonly partialSuccess?: {
      readonly rejectedLogRecords?: unknown
      readonly errorMessage?: unknown
    } | null
  }
  const rejected = Number(partialSuccess?.rejectedLogRecords ?? 0)
  const message = partialSuccess?.errorMessage
  return { rejected: count(rejected), message: typeof message === 'string' ? message : '' }
}

/** ExportLogsServiceResponse { 1: ExportLogsPartialSuccess { 1: int64 rejected, 2: string message } } */
function fromProtobuf(body: Buffer): PartialSuccess {
  let partial = NONE
  for (const { field, bytes } of fieldsOf(body)) {
    if (field !== 1 || bytes === undefined) continue
    for (const inner of fieldsOf(bytes)) {
      if (inner.field === 1) partial = { ...partial, rejected: count(inner.number) }
      else if (inner.field === 2) partial = { ...partial, message: inner.bytes?.toString('utf8') ?? '' }
    }
  }
  return partial
}

interface Field {
  readonly field: number
  readonly number: number
  /** The content of a field with a length. */
  readonly bytes?: Buffer
}

const VARINT = 0
const FIXED64 = 1
const LENGTH_DELIMITED = 2
const FIXED32 = 5

function* fieldsOf(message: Buffer): Generator<Field> {
  let at = 0
  const varint = () => {
    let value = 0
    for (let shift = 1; ; shift *= 128) {
      const byte = message.readUInt8(at++)
      value += (byte & 127) * shift
      if (byte < 128) return value
    }
  }
  while (at < message.length) {
    const tag = varint()
    const field = Math.floor(tag / 8)
    const wireType = tag % 8
    if (wireType === VARINT) yield { field, number: varint() }
    else if (wireType === LENGTH_DELIMITED) {
      const length = varint()
      yield { field, number: length, bytes: message.subarray(at, at + length) }
      at += length
    } else if (wireType === FIXED64) at += 8
    else if (wireType === FIXED32) at += 4
    else throw new Error(`wire type ${wireType}`)
  }
}

function count(value: number): number {
  return Number.isFinite(value) && value > 0 ? Math.floor(value) : 0
}
