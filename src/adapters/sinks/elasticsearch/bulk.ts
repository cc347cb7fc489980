import { timeText } from '../../../core/event/attributes.ts'
import { encodeBase64 } from '../../../core/event/base64.ts'
import type { LazaretEvent } from '../../../core/event/event.ts'
import { isBytes } from '../../../core/event/plain.ts'
import type { RejectedItem } from '../../../ports/sink.ts'
import { SinkRefusedError } from '../errors.ts'
import type { Piece } from '../sending/delivery.ts'
import type { IndexName } from './index-name.ts'

/** Makes the document that Elasticsearch stores for an event. */
export type ElasticsearchDocument = (event: LazaretEvent) => Readonly<Record<string, unknown>>

export interface BulkPiece extends Piece {
  /** The line of the action and that of the document. */
  readonly text: string
}

/**
 * `create` with the event's id: a second sending is refused as a conflict and not stored twice. It is also the only
 * action that data streams take.
 */
export function pieceOf(
  event: LazaretEvent,
  index: number,
  indexOf: IndexName,
  document: ElasticsearchDocument,
): BulkPiece {
  const action = `{"create":{"_index":${JSON.stringify(indexOf(event))},"_id":${JSON.stringify(event.id)}}}`
  const text = `${action}\n${JSON.stringify(document(event))}\n`
  return { index, text, size: text.length }
}

export function bulkBody(pieces: readonly BulkPiece[]): Buffer {
  return Buffer.from(pieces.map(({ text }) => text).join(''))
}

/** Documents are the whole event, with its time in the field that both servers use. */
export function eventDocuments(): ElasticsearchDocument {
  const timeOf = isoTimes()
  return ({ id, type, channel, key, idempotencyKey, occurredAt, source, headers, payload }) => {
    const bytes = isBytes(payload) ? encodeBase64(payload) : undefined
    return {
      '@timestamp': timeOf(occurredAt),
      id,
      type,
      channel,
      key,
      idempotencyKey,
      source,
      headers,
      payload: bytes === undefined ? payload : undefined,
      payloadBase64: bytes,
    }
  }
}

const SECOND_MS = 1_000

/** ISO 8601. Writing a date costs a third of a whole document, so the second is remembered from one to the next. */
function isoTimes(): (ms: number) => string {
  let second = Number.NaN
  let beginning = ''
  return ms => {
    const rest = ms % SECOND_MS
    if (ms - rest !== second) {
      second = ms - rest
      beginning = timeText(ms).slice(0, -4)
    }
    return `${beginning}${String(rest + SECOND_MS).slice(1)}Z`
  }
}

/** The requested fields of the answer: enough for the result of each item, and a tenth of the full answer. */
export const ANSWER_FIELDS = 'errors,items.*.status,items.*.error.type,items.*.error.reason'

interface BulkItem {
  readonly status?: unknown
  readonly error?: { readonly type?: unknown; readonly reason?: unknown } | null | undefined
}

const CONFLICT = 409

/**
 * The refused items; undefined when this is not an answer to a bulk request of this size. A conflict means that the
 * item is already stored.
 */
export function refusedItems(
  text: string,
  pieces: readonly BulkPiece[],
  subject: string,
): readonly RejectedItem[] | undefined {
  const answer = parsed(text)
  if (answer?.errors === false) return []
  if (!Array.isArray(answer?.items) || answer.items.length !== pieces.length) return undefined
  const items: readonly ({ readonly create?: BulkItem | null } | null)[] = answer.items
  return items.flatMap((entry, at): RejectedItem[] => {
    const { status, error } = entry?.create ?? {}
    const isTaken = typeof status === 'number' && ((status >= 200 && status <= 299) || status === CONFLICT)
    return isTaken ? [] : [{ index: pieces[at]!.index, error: refusalOf(subject, status, error) }]
  })
}

/** An item without a status would be a server's fault, and may pass. */
function refusalOf(subject: string, status: unknown, error: BulkItem['error']): SinkRefusedError {
  const said = [error?.type, error?.reason].filter(part => typeof part === 'string').join(': ')
  return new SinkRefusedError({ subject, status: typeof status === 'number' ? status : 500, said })
}

function parsed(text: string): { readonly errors?: unknown; readonly items?: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}
