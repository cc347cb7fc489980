import { createHmac } from 'node:crypto'
import { decodeBase64 } from '../../../core/event/base64.ts'
import type { Rule } from '../../../core/options/rules.ts'

const PREFIX = 'whsec_'
const MIN_KEY_BYTES = 24
const MAX_KEY_BYTES = 64

/** A key of Standard Webhooks: 24 to 64 random bytes as base64 behind `whsec_`. Never shown. */
export const signingKeyRule: Rule<Buffer> = {
  read(value, path, faults) {
    const encoded = typeof value === 'string' ? value.replace(PREFIX, '') : ''
    const key = decodeBase64(encoded)
    if (key !== undefined && key.length >= MIN_KEY_BYTES && key.length <= MAX_KEY_BYTES)
      return Buffer.from(key)
    const remedy = `give ${MIN_KEY_BYTES} to ${MAX_KEY_BYTES} random bytes as base64 behind '${PREFIX}'; make one with: echo ${PREFIX}$(openssl rand -base64 32)`
    faults.addHidden(path, value, remedy)
    return Buffer.alloc(0)
  },
}

/** One signature for each key, so that the receiver can change from one key to the next. */
export function signatureHeaders(
  keys: readonly Buffer[],
  id: string,
  nowMs: number,
  body: Buffer,
): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(nowMs / 1_000))
  const signatures = keys.map(key => {
    const hmac = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body)
    return `v1,${hmac.digest('base64')}`
  })
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') }
}

/**
 * The same id for every send of an event. It contains no dot, because the dot separates the signed parts, and only ASCII,
 * because it is a header.
 */
export function webhookId(eventId: string): string {
  return encodeURIComponent(eventId).replaceAll('.', '%2E')
}
