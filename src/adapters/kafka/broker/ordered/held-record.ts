import type { AttemptLog } from '../../../../adapter-kit/delivery/tracked-delivery.ts'
import { countOf, parseLog } from '../../../../adapter-kit/wire/carried-log.ts'
import type { Origin } from '../../../../core/dead-letter/letter.ts'
import type { EventRecord } from '../wire/event-codec.ts'
import { header, headerText, OWN, withoutHeaders } from '../wire/headers.ts'
import { inWholeMs, waitOf, withLog } from '../wire/record-log.ts'
import type { PlaceNumbering } from './place-numbering.ts'

/** What a record of the held topic says about the event in it. */
export interface HeldState extends PlaceNumbering {
  readonly state: 'waiting' | 'dead'
  /** The line that it stands in. */
  readonly line: string
  /** The position in the line. Lower positions come first. */
  readonly place: number
  readonly id: string
  /** Epoch milliseconds before which it is not delivered; 0 without a wait. */
  readonly notBefore: number
  /** The length of that wait when it was stored. */
  readonly waitMs: number
}

const EMPTY = Buffer.alloc(0)

/** Keys are bytes. Each byte is one character, so that JSON keeps them. */
const asText = (bytes: Buffer) => bytes.toString('latin1')

/** An event that waits. The key of the record says which event it is, so that the topic keeps the latest state of each. */
export function waitingRecord(
  heldKey: string,
  held: Omit<HeldState, 'state'>,
  record: EventRecord,
  origin: Origin,
  log: AttemptLog,
): EventRecord {
  const { key, value, headers } = withLog(record, origin, log, undefined)
  const state = {
    ...held,
    ...inWholeMs(held),
    state: 'waiting',
    key: key === null ? undefined : asText(key),
    // A record without a value would remove the event from the topic.
    hasNoValue: value === null || undefined,
  }
  return {
    key: Buffer.from(heldKey),
    value: value ?? EMPTY,
    headers: [...headers, header(OWN.held, JSON.stringify(state))],
  }
}

/** A dead-lettered event, which blocks its line. */
export function deadRecord(
  heldKey: string,
  { line, place, id }: Pick<HeldState, 'line' | 'place' | 'id'>,
  { topic, firstPlace }: PlaceNumbering,
): EventRecord {
  const state = JSON.stringify({ line, place, topic, firstPlace, id, state: 'dead' })
  return { key: Buffer.from(heldKey), value: EMPTY, headers: [header(OWN.held, state)] }
}

/** The event is resolved. */
export function resolvedRecord(heldKey: string): EventRecord {
  return { key: Buffer.from(heldKey), value: null, headers: [] }
}

/**
 * The state of a held event; undefined if the record is not one of ours, or says that the event is resolved. Anybody who may
 * write to the topic can write anything, and one such record must not keep all others from being read.
 */
export function readHeld({ value, headers }: EventRecord): HeldState | undefined {
  const text = value === null ? undefined : headerText(headers, OWN.held)
  if (text === undefined) return undefined
  const { state, line, place, topic, firstPlace, id, notBefore, waitMs } = parseLog(text)
  if (typeof line !== 'string' || typeof id !== 'string' || !Number.isSafeInteger(place)) return undefined
  return {
    state: state === 'dead' ? 'dead' : 'waiting',
    line,
    place: place as number,
    topic: String(topic),
    firstPlace: countOf(firstPlace),
    id,
    notBefore: countOf(notBefore),
    waitMs: waitOf(waitMs),
  }
}

/** The message of the event, as it was. */
export function heldMessage<R extends EventRecord>(record: R): R {
  const { key, hasNoValue } = parseLog(headerText(record.headers, OWN.held) ?? '{}')
  return {
    ...record,
    key: typeof key === 'string' ? Buffer.from(key, 'latin1') : null,
    value: hasNoValue === true ? null : record.value,
    headers: withoutHeaders(record.headers, OWN.held),
  }
}
