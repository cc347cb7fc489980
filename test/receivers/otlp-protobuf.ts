/** A decoder for the protobuf messages of OTLP, from opentelemetry/proto/{logs,trace,common,resource}/v1. */
type Kind = 'string' | 'bytes' | 'varint' | 'int64' | 'bool' | 'double' | 'fixed32' | 'fixed64'

interface FieldSpec {
  readonly name: string
  readonly type: Kind | string
  readonly repeated?: boolean
}

type Message = Readonly<Record<number, FieldSpec>>

const repeated = (name: string, type: string): FieldSpec => ({ name, type, repeated: true })
const one = (name: string, type: string): FieldSpec => ({ name, type })

const MESSAGES: Readonly<Record<string, Message>> = {
  ExportLogsServiceRequest: { 1: repeated('resourceLogs', 'ResourceLogs') },
  ResourceLogs: {
    1: one('resource', 'Resource'),
    2: repeated('scopeLogs', 'ScopeLogs'),
    3: one('schemaUrl', 'string'),
  },
  Resource: { 1: repeated('attributes', 'KeyValue'), 2: one('droppedAttributesCount', 'varint') },
  ScopeLogs: {
    1: one('scope', 'InstrumentationScope'),
    2: repeated('logRecords', 'LogRecord'),
    3: one('schemaUrl', 'string'),
  },
  InstrumentationScope: {
    1: one('name', 'string'),
    2: one('version', 'string'),
    3: repeated('attributes', 'KeyValue'),
    4: one('droppedAttributesCount', 'varint'),
  },
  LogRecord: {
    1: one('timeUnixNano', 'fixed64'),
    2: one('severityNumber', 'varint'),
    3: one('severityText', 'string'),
    5: one('body', 'AnyValue'),
    6: repeated('attributes', 'KeyValue'),
    7: one('droppedAttributesCount', 'varint'),
    8: one('flags', 'fixed32'),
    9: one('traceId', 'bytes'),
    10: one('spanId', 'bytes'),
    11: one('observedTimeUnixNano', 'fixed64'),
    12: one('eventName', 'string'),
  },
  ExportTraceServiceRequest: { 1: repeated('resourceSpans', 'ResourceSpans') },
  ResourceSpans: {
    1: one('resource', 'Resource'),
    2: repeated('scopeSpans', 'ScopeSpans'),
    3: one('schemaUrl', 'string'),
  },
  ScopeSpans: {
    1: one('scope', 'InstrumentationScope'),
    2: repeated('spans', 'Span'),
    3: one('schemaUrl', 'string'),
  },
  Span: {
    1: one('traceId', 'bytes'),
    2: one('spanId', 'bytes'),
    3: one('traceState', 'string'),
    4: one('parentSpanId', 'bytes'),
    5: one('name', 'string'),
    6: one('kind', 'varint'),
    7: one('startTimeUnixNano', 'fixed64'),
    8: one('endTimeUnixNano', 'fixed64'),
    9: repeated('attributes', 'KeyValue'),
    10: one('droppedAttributesCount', 'varint'),
    11: repeated('events', 'SpanEvent'),
    12: one('droppedEventsCount', 'varint'),
    13: repeated('links', 'SpanLink'),
    14: one('droppedLinksCount', 'varint'),
    15: one('status', 'Status'),
    16: one('flags', 'fixed32'),
  },
  SpanEvent: {
    1: one('timeUnixNano', 'fixed64'),
    2: one('name', 'string'),
    3: repeated('attributes', 'KeyValue'),
    4: one('droppedAttributesCount', 'varint'),
  },
  SpanLink: {
    1: one('traceId', 'bytes'),
    2: one('spanId', 'bytes'),
    3: one('traceState', 'string'),
    4: repeated('attributes', 'KeyValue'),
    5: one('droppedAttributesCount', 'varint'),
    6: one('flags', 'fixed32'),
  },
  Status: { 2: one('message', 'string'), 3: one('code', 'varint') },
  KeyValue: { 1: one('key', 'string'), 2: one('value', 'AnyValue') },
  AnyValue: {
    1: one('stringValue', 'string'),
    2: one('boolValue', 'bool'),
    3: one('intValue', 'int64'),
    4: one('doubleValue', 'double'),
    5: one('arrayValue', 'ArrayValue'),
    6: one('kvlistValue', 'KeyValueList'),
    7: one('bytesValue', 'bytes'),
  },
  ArrayValue: { 1: repeated('values', 'AnyValue') },
  KeyValueList: { 1: repeated('values', 'KeyValue') },
}

const WIRE_TYPES: Readonly<Record<string, number>> = {
  varint: 0,
  int64: 0,
  bool: 0,
  double: 1,
  fixed64: 1,
  fixed32: 5,
}
const LENGTH_DELIMITED = 2
const text = new TextDecoder('utf8', { fatal: true })

/** In the shape of OTLP's JSON, so that both are checked by the same rules. Anything unexpected throws. */
export function decodeLogsRequest(bytes: Buffer): unknown {
  return decode('ExportLogsServiceRequest', bytes)
}

export function decodeTracesRequest(bytes: Buffer): unknown {
  return decode('ExportTraceServiceRequest', bytes)
}

function decode(type: string, bytes: Buffer): Record<string, unknown> {
  const message = MESSAGES[type]!
  const decoded: Record<string, unknown> = {}
  let at = 0
  const varint = (): bigint => {
    let value = 0n
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes.readUInt8(at++)
      value |= BigInt(byte & 127) << shift
      if (byte < 128) return value
    }
  }
  const take = (length: number): Buffer => {
    if (at + length > bytes.length) throw new Error(`${type}: ends in the middle of a field`)
    at += length
    return bytes.subarray(at - length, at)
  }
  while (at < bytes.length) {
    const tag = Number(varint())
    const field = message[tag >> 3]
    if (field === undefined) throw new Error(`${type}: no field ${tag >> 3}`)
    if ((tag & 7) !== (WIRE_TYPES[field.type] ?? LENGTH_DELIMITED)) {
      throw new Error(`${type}.${field.name}: wire type ${tag & 7}`)
    }
    const value = read(field.type, varint, take)
    if (field.repeated) decoded[field.name] = [...((decoded[field.name] as unknown[]) ?? []), value]
    else decoded[field.name] = value
  }
  return decoded
}

function read(type: string, varint: () => bigint, take: (length: number) => Buffer): unknown {
  switch (type) {
    case 'varint':
      return Number(varint())
    case 'int64':
      return String(BigInt.asIntN(64, varint()))
    case 'bool':
      return varint() === 1n
    case 'double':
      return take(8).readDoubleLE()
    case 'fixed64':
      return String(take(8).readBigUInt64LE())
    case 'fixed32':
      return take(4).readUInt32LE()
  }
  const content = take(Number(varint()))
  if (type === 'string') return text.decode(content)
  // Of the byte fields in JSON, ids are hex and values are base64; the caller tells them apart by their length.
  return type === 'bytes' ? content : decode(type, content)
}

/** ExportLogsServiceResponse { partial_success { rejected_log_records, error_message } } */
export function encodeLogsResponse(rejected: number, message: string): Uint8Array {
  if (rejected === 0 && message === '') return new Uint8Array()
  const words = Buffer.from(message)
  const partial = Buffer.concat([
    rejected === 0 ? Buffer.alloc(0) : Buffer.from([8, ...varintOf(rejected)]),
    words.length === 0 ? words : Buffer.concat([Buffer.from([18, ...varintOf(words.length)]), words]),
  ])
  return Buffer.concat([Buffer.from([10, ...varintOf(partial.length)]), partial])
}

function varintOf(value: number): number[] {
  return value < 128 ? [value] : [(value % 128) + 128, ...varintOf(Math.floor(value / 128))]
}
