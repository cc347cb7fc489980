import type { LazaretEvent } from '../../../core/event/event.ts'

/** Braces, quotes, names and times of an envelope's JSON text, without its values. */
const ENVELOPE_BYTES = 160
const NUMBER_BYTES = 8

/**
 * How large an event is, near enough to keep batches and buffers within bounds: close to its JSON text without escapes.
 * Writing the text to measure it would cost more than everything else on the way of an event.
 */
export function eventBytes(event: LazaretEvent): number {
  const { id, type, channel, key, idempotencyKey, source, headers, payload } = event
  let bytes = ENVELOPE_BYTES + id.length + type.length + channel.length + idempotencyKey.length
  if (key !== undefined) bytes += key.length
  if (source !== undefined) bytes += source.length
  for (const name in headers) bytes += name.length + headers[name]!.length + 6
  return bytes + valueBytes(payload)
}

/** The event was checked when it was made, so its payload is plain, finite and not too deep. */
function valueBytes(value: unknown): number {
  if (typeof value === 'string') return textBytes(value)
  if (typeof value !== 'object' || value === null) return NUMBER_BYTES
  if (ArrayBuffer.isView(value)) return value.byteLength
  let bytes = 2
  if (Array.isArray(value)) {
    for (const entry of value) bytes += 1 + valueBytes(entry)
  } else {
    for (const name in value) bytes += name.length + 4 + valueBytes((value as Record<string, unknown>)[name])
  }
  return bytes
}

/** Short texts are taken for ASCII: there the difference is small, and looking costs as much as the rest. */
function textBytes(text: string): number {
  return 2 + (text.length < 64 ? text.length : Buffer.byteLength(text))
}
