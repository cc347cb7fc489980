import {
  countText,
  lastOfPath,
  readMassTransitFault,
  rootCause,
} from '../../../adapter-kit/collecting/foreign-faults.ts'
import type { HeaderReader } from '../../../adapter-kit/collecting/record-headers.ts'

/** The failure that another program wrote on a record, and the place that the record came from. */
export interface Fault {
  readonly writtenBy: 'spring' | 'connect' | 'streams' | 'wolverine' | 'masstransit'
  readonly error: string
  readonly message: string
  readonly stack: string | undefined
  /** The time of the failure. Most programs do not write it. */
  readonly at: number | undefined
  /** The topic that the record was read from first. */
  readonly topic: string | undefined
  readonly partition: number | undefined
  /** An offset can exceed 2^53, so it is a text. */
  readonly offset: string | undefined
  /** The time of the original record. */
  readonly timestamp: number | undefined
  /** The consumer group or the connector that gave up. */
  readonly handler: string | undefined
  readonly attempts: number
  /** Facts that only this program writes. */
  readonly detail: Readonly<Record<string, string>> | undefined
}

/**
 * Headers that describe the failure and the retries. The letter keeps them, and a replay does not send them: the next
 * failure writes its own, and Spring would count the attempts of a replay from where the last cycle ended.
 */
const FAULT_HEADERS = [
  /^kafka_(?:dlt-)?(?:key-)?exception-(?:fqcn|cause-fqcn|message|stacktrace)$/,
  /^kafka_(?:dlt-)?original-(?:topic|partition|offset|timestamp|timestamp-type|consumer-group)$/,
  /^retry_topic-(?:attempts|backoff-timestamp|original-timestamp)$/,
  /^springDeserializerException(?:Key|Value)$/,
  /^__(?:connect|streams)\.errors\./,
  /^MT-(?:Reason|Fault-.*)$/,
  /^wolverine-kafka-retry-/,
]

/** Wolverine's names are words that other programs may use for their own purposes. */
const WOLVERINE_HEADERS: ReadonlySet<string> = new Set([
  'exception-type',
  'exception-message',
  'exception-stack',
  'failed-at',
  'original-destination',
  'original-partition',
  'original-offset',
])

export function isFaultHeader(name: string, writtenBy: Fault['writtenBy'] | undefined): boolean {
  if (writtenBy === 'wolverine' && WOLVERINE_HEADERS.has(name)) return true
  return FAULT_HEADERS.some(pattern => pattern.test(name))
}

export function readFault(headers: HeaderReader): Fault | undefined {
  return (
    readConnectFault(headers) ??
    readSpringFault(headers) ??
    readStreamsFault(headers) ??
    readWolverineFault(headers) ??
    readMassTransit(headers)
  )
}

/**
 * Spring Kafka's DeadLetterPublishingRecoverer (`kafka_dlt-…`) and its retry topics (`kafka_…`). A record that passed
 * through several topics has several origins: the first one is the topic that the producer had sent it to.
 */
function readSpringFault(headers: HeaderReader): Fault | undefined {
  const origin = (name: string) => `kafka_dlt-original-${name}`
  const retried = (name: string) => `kafka_original-${name}`
  const error = (name: string) =>
    headers.last(`kafka_dlt-exception-${name}`) ??
    headers.last(`kafka_exception-${name}`) ??
    headers.last(`kafka_dlt-key-exception-${name}`) ??
    headers.last(`kafka_key-exception-${name}`)
  const first = (name: string) => headers.first(retried(name)) ?? headers.first(origin(name))
  const bytes = (name: string) => headers.firstBytes(retried(name)) ?? headers.firstBytes(origin(name))
  const topic = first('topic')
  const name = error('fqcn')
  if (topic === undefined && name === undefined) return undefined
  const stack = error('stacktrace')
  const cause = rootCause(stack ?? '')
  return {
    writtenBy: 'spring',
    // The exception itself is that of the listener container.
    error: error('cause-fqcn') ?? (stack === undefined ? name : cause.error) ?? 'Exception',
    message: cause.message || error('message') || '',
    stack,
    at: undefined,
    topic,
    partition: intOf(bytes('partition')),
    offset: longOf(bytes('offset'))?.toString(),
    timestamp: timeOf(longOf(bytes('timestamp'))),
    handler: headers.last(origin('consumer-group')),
    attempts: Math.max(1, intOf(headers.firstBytes('retry_topic-attempts')) ?? 0),
    detail: undefined,
  }
}

/** Spring writes numbers as the bytes of a Java int or long. */
function intOf(bytes: Buffer | undefined): number | undefined {
  return bytes?.length === 4 ? bytes.readInt32BE() : undefined
}

function longOf(bytes: Buffer | undefined): bigint | undefined {
  return bytes?.length === 8 ? bytes.readBigInt64BE() : undefined
}

function timeOf(ms: bigint | undefined): number | undefined {
  const time = Number(ms ?? -1n)
  return Number.isSafeInteger(time) && time > 0 ? time : undefined
}

/** A sink connector with `errors.deadletterqueue.context.headers.enable`. All values are texts. */
function readConnectFault(headers: HeaderReader): Fault | undefined {
  const header = (name: string) => headers.last(`__connect.errors.${name}`)
  const stage = header('stage')
  const name = header('exception.class.name')
  if (stage === undefined && name === undefined) return undefined
  const stack = header('exception.stacktrace')
  const cause = rootCause(stack ?? '')
  return {
    writtenBy: 'connect',
    error: stack === undefined ? (name ?? 'Exception') : cause.error,
    message: cause.message || header('exception.message') || '',
    stack,
    at: undefined,
    topic: header('topic'),
    partition: indexText(header('partition')),
    offset: offsetText(header('offset')),
    timestamp: undefined,
    handler: header('connector.name'),
    attempts: 1,
    detail: definedTexts({ stage, className: header('class.name'), task: header('task.id') }),
  }
}

/** Kafka Streams from 4.2 with `errors.dead.letter.queue.topic.name`. It keeps no header of the original record. */
function readStreamsFault(headers: HeaderReader): Fault | undefined {
  const header = (name: string) => headers.last(`__streams.errors.${name}`)
  // This is the text of the exception, with its message.
  const thrown = header('exception')
  if (thrown === undefined) return undefined
  const cause = rootCause(header('stacktrace') ?? thrown)
  return {
    writtenBy: 'streams',
    error: cause.error,
    message: cause.message || header('message') || '',
    stack: header('stacktrace'),
    at: undefined,
    topic: header('topic'),
    partition: indexText(header('partition')),
    offset: offsetText(header('offset')),
    timestamp: undefined,
    handler: undefined,
    attempts: 1,
    detail: undefined,
  }
}

/** Wolverine with a native dead-letter queue. */
function readWolverineFault(headers: HeaderReader): Fault | undefined {
  const error = headers.last('exception-type')
  const failedAt = headers.last('failed-at')
  // Either alone may be a header of any program.
  if (error === undefined || failedAt === undefined) return undefined
  return {
    writtenBy: 'wolverine',
    error,
    message: headers.last('exception-message') ?? '',
    stack: headers.last('exception-stack'),
    at: timeOf(/^\d+$/.test(failedAt) ? BigInt(failedAt) : undefined),
    topic: headers.last('wolverine-kafka-retry-source') ?? lastOfPath(headers.last('original-destination')),
    partition: indexText(headers.last('original-partition')),
    offset: offsetText(headers.last('original-offset')),
    timestamp: undefined,
    handler: undefined,
    attempts: Math.max(1, countText(headers.last('attempts'))),
    detail: undefined,
  }
}

function readMassTransit(headers: HeaderReader): Fault | undefined {
  const fault = readMassTransitFault(headers.last)
  if (fault === undefined) return undefined
  const { queue, ...rest } = fault
  return {
    ...rest,
    topic: queue,
    partition: undefined,
    offset: undefined,
    timestamp: undefined,
    handler: headers.last('MT-Fault-ConsumerType'),
    detail: undefined,
  }
}

function indexText(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : undefined
}

function offsetText(text: string | undefined): string | undefined {
  return text !== undefined && /^\d{1,19}$/.test(text) ? text : undefined
}

function definedTexts(
  texts: Record<string, string | undefined>,
): Readonly<Record<string, string>> | undefined {
  const known = Object.entries(texts).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return known.length === 0 ? undefined : Object.fromEntries(known)
}
