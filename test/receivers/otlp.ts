import { decodeLogsRequest, encodeLogsResponse } from './otlp-protobuf.ts'
import { anyValue, id, keyValues, listOf, member, nanoseconds } from './otlp-values.ts'
import { type Received, type Receiver, type Reply, startReceiver } from './receiver.ts'

/** A log record as the collector understood it. */
export interface CollectedRecord {
  readonly timeUnixNano: string
  readonly observedTimeUnixNano: string
  readonly severityNumber: number
  readonly severityText: string
  readonly body: unknown
  readonly eventName: string
  readonly attributes: Readonly<Record<string, unknown>>
  readonly droppedAttributesCount: number
  readonly flags: number
  readonly traceId: string
  readonly spanId: string
  readonly resource: Readonly<Record<string, unknown>>
  readonly scope: string
}

export interface OtlpReceiver extends Receiver {
  /** Where logs are taken. */
  readonly logsUrl: string
  /** What was taken, in order. */
  readonly records: readonly CollectedRecord[]
  /** From now on it does not take records of these uids, and says how many but not which. */
  refuse(uids: readonly string[], message?: string): void
  /** Says this with every success. */
  warn(message: string): void
}

const JSON_TYPE = 'application/json'
const PROTOBUF_TYPE = 'application/x-protobuf'

/** POST /v1/logs of a collector. Written from the OTLP 1.x specification and its protobuf definitions. */
export async function otlpReceiver(headers: Readonly<Record<string, string>> = {}): Promise<OtlpReceiver> {
  const records: CollectedRecord[] = []
  let refused: ReadonlySet<string> = new Set()
  let message = ''
  const receiver = await startReceiver(request => {
    const fault = faultOf(request, headers)
    if (fault !== undefined) return fault
    try {
      const sent = recordsIn(request)
      const taken = sent.filter(record => !refused.has(String(record.attributes['log.record.uid'])))
      records.push(...taken)
      return success(request, sent.length - taken.length, message)
    } catch (error) {
      return { status: 400, body: String(error) }
    }
  })
  return Object.assign(receiver, {
    logsUrl: `${receiver.url}/v1/logs`,
    records,
    refuse(uids: readonly string[], why = 'not these') {
      refused = new Set(uids)
      message = uids.length > 0 ? why : ''
    },
    warn(words: string) {
      message = words
    },
  })
}

function faultOf(
  { method, url, headers }: Received,
  asked: Readonly<Record<string, string>>,
): Reply | undefined {
  if (url !== '/v1/logs') return { status: 404 }
  if (method !== 'POST') return { status: 405 }
  for (const [name, value] of Object.entries(asked)) if (headers[name] !== value) return { status: 401 }
  const type = headers['content-type']
  if (type !== JSON_TYPE && type !== PROTOBUF_TYPE) return { status: 415 }
  return headers['user-agent']?.includes('OTel-OTLP-Exporter-JavaScript/') ? undefined : { status: 400 }
}

function success({ headers }: Received, rejected: number, message: string): Reply {
  const type = headers['content-type']!
  const isPartial = rejected > 0 || message !== ''
  const partialSuccess = { rejectedLogRecords: String(rejected), errorMessage: message }
  const body =
    type === JSON_TYPE
      ? JSON.stringify(isPartial ? { partialSuccess } : {})
      : encodeLogsResponse(rejected, message)
  return { status: 200, headers: { 'content-type': type }, body }
}

function recordsIn({ headers, body }: Received): CollectedRecord[] {
  const isJson = headers['content-type'] === JSON_TYPE
  return recordsOf(isJson ? JSON.parse(body.toString('utf8')) : decodeLogsRequest(body))
}

/** The records of a request in the JSON of OTLP. */
export function recordsOf(request: unknown): CollectedRecord[] {
  return listOf(request, 'resourceLogs').flatMap(resourceLogs => {
    const resource = keyValues(member(resourceLogs, 'resource'), 'attributes')
    return listOf(resourceLogs, 'scopeLogs').flatMap(scopeLogs => {
      const scope = String(member(member(scopeLogs, 'scope'), 'name') ?? '')
      return listOf(scopeLogs, 'logRecords').map(record => ({ ...collected(record), resource, scope }))
    })
  })
}

const FIELDS = new Set(
  'timeUnixNano observedTimeUnixNano severityNumber severityText body attributes droppedAttributesCount flags traceId spanId eventName'.split(
    ' ',
  ),
)

function collected(record: unknown): Omit<CollectedRecord, 'resource' | 'scope'> {
  for (const name of Object.keys(record as object)) if (!FIELDS.has(name)) throw new Error(`field ${name}`)
  const severityNumber = Number(member(record, 'severityNumber') ?? 0)
  if (!Number.isInteger(severityNumber) || severityNumber > 24) throw new Error('severityNumber')
  return {
    // An encoder may omit a zero.
    timeUnixNano: nanoseconds(member(record, 'timeUnixNano') ?? '0'),
    observedTimeUnixNano: nanoseconds(member(record, 'observedTimeUnixNano')),
    severityNumber,
    severityText: String(member(record, 'severityText') ?? ''),
    body: anyValue(member(record, 'body')),
    eventName: String(member(record, 'eventName') ?? ''),
    attributes: keyValues(record, 'attributes'),
    droppedAttributesCount: Number(member(record, 'droppedAttributesCount') ?? 0),
    flags: Number(member(record, 'flags') ?? 0),
    traceId: id(member(record, 'traceId'), 16),
    spanId: id(member(record, 'spanId'), 8),
  }
}
