import type { Faults } from '../options/faults.ts'
import { encodeBase64 } from './base64.ts'
import { isBytes } from './plain.ts'

/** How the body of a CloudEvent in binary mode is read. */
type DataKind = 'json' | 'text' | 'bytes'

/**
 * The attribute that names the kind of the data, where the content type says another kind or the body is empty. An
 * event with the type `image/png` and a text as payload is read as it was written.
 */
export const DATA_KIND = 'lazaretdata'

export const JSON_TYPE = 'application/json'
export const BYTES_TYPE = 'application/octet-stream'

const JSON_DATA = /^[^;]*[/+]json\s*(?:;|$)/i
const TEXT_DATA = /^\s*text\/|^[^;]*[/+]xml\s*(?:;|$)/i
const CHARSET = /;\s*charset\s*=\s*"?([^\s";]*)/i
const UTF8_CHARSET = /^(?:utf-?8|us-ascii)$/i
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function kindOfType(contentType: string | undefined): DataKind {
  if (contentType === undefined) return 'json'
  const charset = CHARSET.exec(contentType)?.[1]
  if (charset !== undefined && !UTF8_CHARSET.test(charset)) return 'bytes'
  if (JSON_DATA.test(contentType)) return 'json'
  return TEXT_DATA.test(contentType) ? 'text' : 'bytes'
}

interface BinaryData {
  readonly body: Uint8Array
  /** Undefined when the content type and the body tell the kind. */
  readonly kind: DataKind | undefined
}

/** Writes a payload as a body. */
export function bodyOf(payload: unknown, contentType: string | undefined): BinaryData {
  if (payload === null) return { body: new Uint8Array(), kind: undefined }
  const told = kindOfType(contentType)
  const kind = kindOf(payload, told)
  const body = isBytes(payload) ? payload : new TextEncoder().encode(textOf(payload, kind))
  return { body, kind: kind === told && body.length > 0 ? undefined : kind }
}

function kindOf(payload: unknown, told: DataKind): DataKind {
  if (isBytes(payload)) return 'bytes'
  // UTF-8 cannot write half a surrogate pair, and JSON can.
  return typeof payload === 'string' && told !== 'json' && payload.isWellFormed() ? 'text' : 'json'
}

function textOf(payload: unknown, kind: DataKind): string {
  return kind === 'text' ? (payload as string) : JSON.stringify(payload)
}

/** Reads a body as the data of a CloudEvent in structured mode. */
export function dataOf(
  body: Uint8Array,
  contentType: string | undefined,
  kind: unknown,
  faults: Faults,
): { readonly data?: unknown; readonly data_base64?: string } {
  if (kind === undefined && body.length === 0) return {}
  switch (kind ?? kindOfType(contentType)) {
    case 'json':
      return { data: parsed(body, faults) }
    case 'text':
      return { data: decoded(body, faults) }
    case 'bytes':
      return { data_base64: encodeBase64(body) }
    default:
      faults.add(DATA_KIND, kind, "give 'json', 'text' or 'bytes', or leave it out")
      return {}
  }
}

function parsed(body: Uint8Array, faults: Faults): unknown {
  const text = decoded(body, faults)
  if (text === undefined) return undefined
  try {
    return JSON.parse(text)
  } catch {
    faults.add('data', text, 'give JSON, or name another content-type')
    return undefined
  }
}

function decoded(body: Uint8Array, faults: Faults): string | undefined {
  try {
    return UTF8.decode(body)
  } catch {
    faults.add('data', body, 'give UTF-8, or name another content-type')
    return undefined
  }
}
