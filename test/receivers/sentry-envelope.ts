/** Envelopes as develop.sentry.dev describes them: headers and items, one line each, payloads by length or by line. */
export interface EnvelopeItem {
  readonly headers: Readonly<Record<string, unknown>>
  readonly payload: Buffer
}

export interface Envelope {
  readonly headers: Readonly<Record<string, unknown>>
  readonly items: readonly EnvelopeItem[]
}

const NEWLINE = 10

export function parseEnvelope(body: Buffer): Envelope {
  let at = 0
  const line = (): Buffer => {
    const end = body.indexOf(NEWLINE, at)
    const found = body.subarray(at, end < 0 ? body.length : end)
    at = end < 0 ? body.length : end + 1
    return found
  }
  const headers = object(line(), 'envelope headers')
  const items: EnvelopeItem[] = []
  while (at < body.length) {
    const itemHeaders = object(line(), 'item headers')
    if (typeof itemHeaders['type'] !== 'string') throw new Error('an item without a type')
    items.push({ headers: itemHeaders, payload: payload(itemHeaders['length']) })
  }
  return { headers, items }

  function payload(length: unknown): Buffer {
    if (length === undefined) return line()
    if (!Number.isInteger(length) || at + (length as number) > body.length) throw new Error('item length')
    const found = body.subarray(at, at + (length as number))
    at += length as number
    if (at < body.length && body[at++] !== NEWLINE) throw new Error('no newline after a payload')
    return found
  }
}

export function object(bytes: Buffer, what: string): Record<string, unknown> {
  const value: unknown = JSON.parse(new TextDecoder('utf8', { fatal: true }).decode(bytes))
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Error(`${what}: no object`)
  return value as Record<string, unknown>
}
