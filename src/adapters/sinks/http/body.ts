import { createHash } from 'node:crypto'
import { timeText } from '../../../core/event/attributes.ts'
import { encodeBase64 } from '../../../core/event/base64.ts'
import { toCloudEvent } from '../../../core/event/cloudevents.ts'
import type { LazaretEvent } from '../../../core/event/event.ts'
import { eventToJson } from '../../../core/event/json.ts'
import { isBytes } from '../../../core/event/plain.ts'
import type { Piece } from '../sending/delivery.ts'
import { webhookId } from './signature.ts'

/**
 * - `event`: the event as Lazaret stores it.
 * - `cloudevents`: a CloudEvents 1.0 event in the structured JSON format.
 * - `webhook`: `{ type, timestamp, data }`, as Standard Webhooks recommends, with the rest of the envelope beside it.
 */
export type HttpFormat = 'event' | 'cloudevents' | 'webhook'

/** Returns a value that JSON can write. */
export type HttpFormatter = (event: LazaretEvent) => unknown

const FORMATTERS: Readonly<Record<HttpFormat, HttpFormatter>> = {
  event: eventToJson,
  cloudevents: toCloudEvent,
  webhook: toWebhook,
}

export function formatterOf(format: HttpFormat | HttpFormatter): HttpFormatter {
  return typeof format === 'string' ? FORMATTERS[format] : format
}

export function contentTypeOf(format: HttpFormat | HttpFormatter, request: 'batch' | 'each'): string {
  if (format !== 'cloudevents') return 'application/json'
  return request === 'batch' ? 'application/cloudevents-batch+json' : 'application/cloudevents+json'
}

function toWebhook({ id, type, occurredAt, key, source, payload }: LazaretEvent): unknown {
  const data = isBytes(payload) ? encodeBase64(payload) : payload
  return { type, timestamp: timeText(occurredAt), data, id, key, source }
}

export interface TextPiece extends Piece {
  readonly id: string
  readonly text: string
}

export function pieceOf(event: LazaretEvent, index: number, format: HttpFormatter): TextPiece {
  const text = JSON.stringify(format(event)) ?? 'null'
  return { index, id: event.id, text, size: text.length + 1 }
}

export function bodyOf(pieces: readonly TextPiece[], request: 'batch' | 'each'): Buffer {
  const texts = pieces.map(({ text }) => text).join(',')
  return Buffer.from(request === 'batch' ? `[${texts}]` : texts)
}

/** The id of one event, or a hash that only the same events in the same order have. */
export function requestId(pieces: readonly TextPiece[]): string {
  const [first, second] = pieces
  if (first !== undefined && second === undefined) return webhookId(first.id)
  const hash = createHash('sha256')
  for (const { id } of pieces) hash.update(`${id}\n`)
  return `batch_${hash.digest('base64url')}`
}
