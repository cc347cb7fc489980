import { encodeBase64 } from '../../../core/event/base64.ts'
import type { LazaretEvent } from '../../../core/event/event.ts'
import { isBytes } from '../../../core/event/plain.ts'
import { traceContextOf } from '../../../core/event/trace-context.ts'
import { EventTooLargeError } from '../errors.ts'
import type { Piece } from '../sending/delivery.ts'
import type { Labels } from './labels.ts'
import { nanosOf, nanosText } from './timestamp.ts'

/** Makes the log line of an event. */
export type LokiLine = (event: LazaretEvent) => string
/** Makes the structured metadata of an event. */
export type LokiMetadata = (event: LazaretEvent) => Readonly<Record<string, string>>

/** An event that is to become an entry. */
export interface Entry extends Piece {
  readonly labels: string
  readonly ms: number
  readonly nanos: number
  /** The part after the time: the line and the structured metadata. */
  readonly rest: string
}

export interface EntryMaker {
  readonly labels: Labels
  readonly line: LokiLine
  readonly metadata: LokiMetadata | undefined
  readonly maxLineBytes: number
  readonly subject: string
}

export function entryOf(event: LazaretEvent, index: number, maker: EntryMaker): Entry {
  const line = maker.line(event)
  checkLength(line, maker)
  const metadata = maker.metadata?.(event)
  const quoted = JSON.stringify(line)
  const rest = metadata === undefined ? `",${quoted}]` : `",${quoted},${metadataText(metadata)}]`
  const { id, occurredAt: ms } = event
  return { index, labels: maker.labels.textOf(event), ms, nanos: nanosOf(id), rest, size: rest.length + 24 }
}

/** A character is at most three bytes, so most lines need not be measured. */
function checkLength(line: string, { maxLineBytes, subject }: EntryMaker): void {
  if (line.length * 3 <= maxLineBytes) return
  const bytes = Buffer.byteLength(line)
  if (bytes > maxLineBytes) throw new EventTooLargeError(subject, bytes, maxLineBytes, 'maxLineBytes')
}

/** The event as JSON, but for what its time and labels say. One literal: the shape is the same for all of them. */
export function eventLine({ id, type, key, source, headers, payload }: LazaretEvent): string {
  const own = hasAny(headers) ? headers : undefined
  if (isBytes(payload))
    return JSON.stringify({ id, type, key, source, headers: own, payloadBase64: encodeBase64(payload) })
  return JSON.stringify({ id, type, key, source, headers: own, payload })
}

function hasAny(headers: LazaretEvent['headers']): boolean {
  for (const _ in headers) return true
  return false
}

/** Metadata for searches, and for the link from a line to its trace. */
export function eventMetadata(event: LazaretEvent): Readonly<Record<string, string>> {
  const { id, type, key } = event
  const metadata: Record<string, string> = { event_id: id, event_type: type }
  if (key !== undefined) metadata['event_key'] = key
  const trace = traceContextOf(event)
  if (trace !== undefined) {
    metadata['trace_id'] = trace.traceId
    metadata['span_id'] = trace.spanId
  }
  return metadata
}

/** Loki takes texts only, and refuses the whole push over anything else. */
function metadataText(metadata: Readonly<Record<string, unknown>>): string {
  for (const name in metadata)
    if (typeof metadata[name] !== 'string') return JSON.stringify(asTexts(metadata))
  return JSON.stringify(metadata)
}

function asTexts(metadata: Readonly<Record<string, unknown>>): Record<string, string> {
  const given = Object.entries(metadata).filter(([, value]) => value !== undefined && value !== null)
  return Object.fromEntries(given.map(([name, value]) => [name, String(value)]))
}

/** The body of a push. Within a stream times rise, which older servers ask for, and no two are the same. */
export function pushBody(entries: readonly Entry[]): Buffer {
  const streams = new Map<string, Entry[]>()
  for (const entry of entries) {
    const stream = streams.get(entry.labels)
    if (stream === undefined) streams.set(entry.labels, [entry])
    else stream.push(entry)
  }
  let text = '{"streams":['
  let separator = ''
  for (const [labels, stream] of streams) {
    text += `${separator}{"stream":${labels},"values":[${valuesText(stream)}]}`
    separator = ','
  }
  return Buffer.from(`${text}]}`)
}

function valuesText(stream: Entry[]): string {
  if (!isInOrder(stream)) stream.sort(byTime)
  let text = ''
  let lastMs = 0
  let lastNanos = -1
  for (const { ms, nanos, rest } of stream) {
    // Two ids that fall on the same nanosecond: the later one moves on.
    lastNanos = ms === lastMs && nanos <= lastNanos ? lastNanos + 1 : nanos
    lastMs = ms
    text += `${text === '' ? '["' : ',["'}${nanosText(ms, lastNanos)}${rest}`
  }
  return text
}

function isInOrder(stream: readonly Entry[]): boolean {
  for (let at = 1; at < stream.length; at++) if (byTime(stream[at - 1]!, stream[at]!) > 0) return false
  return true
}

function byTime(a: Entry, b: Entry): number {
  return a.ms - b.ms || a.nanos - b.nanos
}
