import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { letterFromJson, letterToJson } from '../../core/dead-letter/json.ts'
import { type EventJson, eventFromJson, eventToJson } from '../../core/event/json.ts'
import { LazaretError } from '../../core/failure/errors.ts'
import { Faults } from '../../core/options/faults.ts'
import type { Codec } from '../../ports/letter-codec.ts'

/** AES-256 keys by id. New writing uses `current`; the others are there to read what was written before. */
export interface SealingOptions {
  readonly current: string
  /** 32 bytes each, as bytes or as base64. */
  readonly keys: Readonly<Record<string, Uint8Array | string>>
}

const ALGORITHM = 'aes-256-gcm'
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
const KEY_ID = /^[A-Za-z0-9_-]{1,64}$/

/** What is hidden of an event: its payload and its headers. The rest is needed to find, group and count letters. */
type Hidden = Pick<EventJson, 'headers'> & { readonly payload?: unknown; readonly payloadBase64?: string }

/**
 * Writes payloads and headers sealed (AES-256-GCM), bound to the event they belong to, so that one cannot be put in
 * another's place. What was written in the clear before, or with an older key that is still given, is read as well.
 */
export function createSealing(options: SealingOptions): Codec {
  const ring = readKeys(options)
  const seal = (event: EventJson): EventJson => sealEvent(event, ring)
  const open = (event: unknown): unknown => openEvent(event, ring)
  return {
    letters: {
      encode: letter => {
        const json = letterToJson(letter)
        return JSON.stringify({ ...json, event: seal(json.event) })
      },
      decode: text => {
        const json = JSON.parse(text) as { readonly event?: unknown }
        return letterFromJson({ ...json, event: open(json.event) })
      },
    },
    events: {
      encode: event => JSON.stringify(seal(eventToJson(event))),
      decode: text => eventFromJson(open(JSON.parse(text))),
    },
  }
}

interface KeyRing {
  readonly current: string
  readonly keys: ReadonlyMap<string, Uint8Array>
}

function readKeys({ current, keys }: SealingOptions): KeyRing {
  const faults = new Faults()
  const read = new Map<string, Uint8Array>()
  for (const [id, key] of Object.entries(keys)) {
    const bytes = typeof key === 'string' ? Buffer.from(key, 'base64') : key
    if (!KEY_ID.test(id)) faults.add(`keys.${id}`, id, 'name keys with letters, digits, - and _')
    // The key itself is never shown, whatever is wrong with it.
    if (bytes.length !== KEY_BYTES)
      faults.add(
        `keys.${id}`,
        bytes.length,
        `give ${KEY_BYTES} bytes, such as those of \`openssl rand -base64 32\``,
      )
    read.set(id, bytes)
  }
  if (!read.has(current))
    faults.add('current', current, `give one of the keys: ${[...read.keys()].join(', ')}`)
  faults.throwIfAny('sealing')
  return { current, keys: read }
}

function sealEvent(event: EventJson, { current, keys }: KeyRing): EventJson {
  const { headers, payload, payloadBase64, ...shown } = event as EventJson & Hidden
  const hidden: Hidden = { headers, ...(payloadBase64 === undefined ? { payload } : { payloadBase64 }) }
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv(ALGORITHM, keys.get(current)!, nonce, { authTagLength: TAG_BYTES })
  cipher.setAAD(Buffer.from(event.id))
  const sealed = Buffer.concat([
    nonce,
    cipher.update(JSON.stringify(hidden), 'utf8'),
    cipher.final(),
    cipher.getAuthTag(),
  ])
  return {
    ...shown,
    headers: {},
    payload: null,
    sealed: `1.${current}.${sealed.toString('base64')}`,
  } as EventJson
}

function openEvent(event: unknown, ring: KeyRing): unknown {
  if (typeof event !== 'object' || event === null || !('sealed' in event)) return event
  const {
    sealed,
    payload: _,
    ...shown
  } = event as { readonly sealed: unknown; readonly id: string; payload?: unknown }
  const [version, keyId = '', data = ''] = String(sealed).split('.')
  if (version !== '1')
    throw new SealError(shown.id, 'is sealed in a way this version does not know; update Lazaret')
  const key = ring.keys.get(keyId)
  if (key === undefined)
    throw new SealError(
      shown.id,
      `is sealed with key '${keyId}', which is not among the keys given; add it to sealing.keys`,
    )
  try {
    return { ...shown, ...(JSON.parse(decrypt(key, Buffer.from(data, 'base64'), shown.id)) as Hidden) }
  } catch (error) {
    throw new SealError(
      shown.id,
      `does not open with key '${keyId}': the key is another one, or the data was changed`,
      error,
    )
  }
}

function decrypt(key: Uint8Array, data: Buffer, id: string): string {
  const decipher = createDecipheriv(ALGORITHM, key, data.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  })
  decipher.setAAD(Buffer.from(id))
  decipher.setAuthTag(data.subarray(data.length - TAG_BYTES))
  const text = decipher.update(data.subarray(NONCE_BYTES, data.length - TAG_BYTES))
  return Buffer.concat([text, decipher.final()]).toString('utf8')
}

/** A sealed event cannot be opened. It is left as it is. */
export class SealError extends LazaretError {
  override readonly name = 'SealError'

  constructor(eventId: string, problem: string, cause?: unknown) {
    super(`event ${eventId} ${problem}`, { code: 'LAZARET_SEAL_UNOPENED', retryable: false, cause })
  }
}
