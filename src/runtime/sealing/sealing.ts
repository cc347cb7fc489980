import { type LetterJson, letterFromJson, letterToJson } from '../../core/dead-letter/json.ts'
import type { Cycle } from '../../core/dead-letter/letter.ts'
import { SealError } from '../../core/event/errors.ts'
import { type EventJson, eventFromJson, eventToJson } from '../../core/event/json.ts'
import { parseJson } from '../../core/event/parse-json.ts'
import { Faults } from '../../core/options/faults.ts'
import type { Codec, TextCodec } from '../../ports/codec.ts'
import { decrypt, encrypt } from './aes-gcm.ts'

/** AES-256 keys by id. New writing uses `current`; the others are there to read what was written before. */
export interface SealingOptions {
  /** The id of the key that new data is written with. It must be one of `keys`. */
  readonly current: string
  /** 32 bytes each, as bytes or as base64. */
  readonly keys: Readonly<Record<string, Uint8Array | string>>
}

const KEY_BYTES = 32
const KEY_ID = /^[A-Za-z0-9_-]{1,64}$/

/** The sealed fields of an event: all that its producer wrote. The other fields are needed to find, group and count letters. */
interface Hidden {
  readonly headers: EventJson['headers']
  readonly payload?: unknown
  readonly payloadBase64?: string
}

/** The other sealed fields of a letter, because errors quote the payload and keys are taken from it. */
interface HiddenLetter extends Hidden {
  readonly key?: string | undefined
  readonly source?: string | undefined
  readonly idempotencyKey: string
  readonly letter: Pick<LetterJson, 'cycle' | 'endedCycles' | 'detail' | 'metadata' | 'origin'>
}

const EVENT_VERSION = '1'
const LETTER_VERSION = '2'
const TEXT = /^sealed:1\.([A-Za-z0-9_-]{1,64})\.([A-Za-z0-9+/=]+)$/
/** A sealed text is bound to this value, so that it cannot replace the content of an event. */
const TEXT_BOUND_TO = 'text'

/**
 * Encrypts data at rest with AES-256-GCM: the payload and headers of events; also the key, the source, the idempotency key
 * and all error texts of letters; and the texts that groups, replays and the audit log take from them. Each sealed
 * text is bound to its event, so that it cannot replace the text of another event. Texts that were written unencrypted
 * before, or with an older key that is still given, can be read as well.
 */
export function createSealing(options: SealingOptions): Codec {
  const ring = readKeys(options)
  const texts: TextCodec = {
    encode: text => `sealed:1.${ring.current}.${encryptWith(ring, text, TEXT_BOUND_TO)}`,
    decode: text => openText(text, ring),
  }
  return {
    letters: {
      encode: letter => JSON.stringify(sealLetter(letterToJson(letter), ring)),
      decode: text => letterFromJson(openLetter(parseJson(text), ring)),
      texts,
    },
    events: {
      encode: event => JSON.stringify(sealEvent(eventToJson(event), ring)),
      decode: text => eventFromJson(openEvent(parseJson(text), ring)),
      texts,
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

function sealEvent(event: EventJson, ring: KeyRing): EventJson {
  const { hidden, shown } = split(event)
  return {
    ...shown,
    headers: {},
    payload: null,
    sealed: seal(EVENT_VERSION, event.id, hidden, ring),
  } as EventJson
}

function sealLetter(json: LetterJson, ring: KeyRing): unknown {
  const { event, cycle, endedCycles, detail, metadata, origin, ...rest } = json
  const { hidden, shown } = split(event)
  const { key, source, idempotencyKey, ...envelope } = shown
  const all: HiddenLetter = {
    ...hidden,
    key,
    source,
    idempotencyKey,
    letter: { cycle, endedCycles, detail, metadata, origin },
  }
  const sealed = seal(LETTER_VERSION, letterBound(json.id, event.id), all, ring)
  return {
    ...rest,
    event: { ...envelope, idempotencyKey: event.id, headers: {}, payload: null, sealed },
    origin: { broker: origin.broker },
    cycle: outline(cycle),
    endedCycles: endedCycles.map(outline),
  }
}

/** Of a cycle what is counted, filtered and grouped by: no text of an error but its name and code. */
function outline({ failure, ...cycle }: Cycle): Cycle {
  return {
    ...cycle,
    attempts: [],
    failure: failure && {
      name: failure.name,
      message: '',
      code: failure.code,
      category: failure.category,
      fingerprint: { ...failure.fingerprint, basis: '' },
    },
  }
}

function split(event: EventJson): { readonly hidden: Hidden; readonly shown: Omit<EventJson, 'headers'> } {
  const { headers, payload, payloadBase64, ...shown } = event as EventJson & Hidden
  return { hidden: { headers, ...(payloadBase64 === undefined ? { payload } : { payloadBase64 }) }, shown }
}

function openEvent(event: unknown, ring: KeyRing): unknown {
  const sealed = sealedIn(event)
  if (sealed === undefined) return event
  if (sealed.version !== EVENT_VERSION)
    throw new SealError(
      `event ${sealed.id}`,
      'is sealed in a format that this version does not know; update Lazaret',
    )
  return { ...sealed.shown, ...(open(sealed, ring) as Hidden) }
}

function openLetter(letter: unknown, ring: KeyRing): unknown {
  const { id, event } = (letter ?? {}) as { readonly id?: unknown; readonly event?: unknown }
  const sealed = sealedIn(event)
  if (sealed?.version !== LETTER_VERSION) return { ...(letter as object), event: openEvent(event, ring) }
  const { letter: hidden, ...content } = open(sealed, ring, letterBound(id, sealed.id)) as HiddenLetter
  return { ...(letter as object), ...hidden, event: { ...sealed.shown, ...content } }
}

interface Sealed {
  readonly id: string
  readonly version: string
  readonly keyId: string
  readonly data: string
  /** The event without what is sealed. */
  readonly shown: object
}

function sealedIn(event: unknown): Sealed | undefined {
  if (typeof event !== 'object' || event === null || !('sealed' in event)) return undefined
  const { sealed, payload: _, ...shown } = event as { sealed: unknown; id: string; payload?: unknown }
  const [version = '', keyId = '', data = ''] = String(sealed).split('.')
  return { id: shown.id, version, keyId, data, shown }
}

function seal(version: string, boundTo: string, hidden: Hidden, ring: KeyRing): string {
  return `${version}.${ring.current}.${encryptWith(ring, JSON.stringify(hidden), boundTo)}`
}

/** A letter's content fits no other letter, also not that of another handler for the same event. */
function letterBound(letterId: unknown, eventId: string): string {
  return `${letterId}\n${eventId}`
}

function open({ id, keyId, data }: Sealed, ring: KeyRing, boundTo = id): unknown {
  return parseJson(openData(`event ${id}`, boundTo, keyId, data, ring))
}

/** A text that does not look sealed was written unencrypted. */
function openText(text: string, ring: KeyRing): string {
  const [, keyId, data] = TEXT.exec(text) ?? []
  if (keyId === undefined || data === undefined) return text
  return openData('a text', TEXT_BOUND_TO, keyId, data, ring)
}

function openData(what: string, boundTo: string, keyId: string, data: string, ring: KeyRing): string {
  const key = ring.keys.get(keyId)
  if (key === undefined)
    throw new SealError(
      what,
      `is sealed with key '${keyId}', which is not among the given keys; add it to sealing.keys`,
    )
  try {
    return decrypt(key, Buffer.from(data, 'base64'), boundTo)
  } catch (error) {
    throw new SealError(
      what,
      `cannot be decrypted with key '${keyId}': the key is wrong, or the data was changed`,
      error,
    )
  }
}

function encryptWith({ current, keys }: KeyRing, text: string, boundTo: string): string {
  return encrypt(keys.get(current)!, text, boundTo).toString('base64')
}
