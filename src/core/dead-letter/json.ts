import type { JsonValue } from '../event/event.ts'
import { type EventJson, eventToJson, readEvent } from '../event/json.ts'
import { parseJson } from '../event/parse-json.ts'
import { readVersioned } from '../event/stored.ts'
import { Faults } from '../options/faults.ts'
import { LetterError } from './errors.ts'
import { isTrue, readCycle } from './json-cycle.ts'
import type { DeadLetter, EveryField, Origin } from './letter.ts'
import { Reader } from './reader.ts'
import { isLetterState } from './state.ts'
import { isTimeToLive } from './time-to-live.ts'

const LETTER_VERSION = 1

/** The stored form of a letter. Versions may add fields, and never remove or change them. */
export interface LetterJson extends Omit<DeadLetter, 'event'> {
  readonly event: EventJson
}

export function letterToJson(letter: DeadLetter): LetterJson {
  return { ...letter, event: eventToJson(letter.event) }
}

export function letterFromJson(value: unknown): DeadLetter {
  const faults = new Faults()
  const letter = readLetter(value, faults)
  if (letter === undefined || faults.list.length > 0) throw new LetterError('stored dead letter', faults.list)
  return letter
}

/** Writes a letter as JSON text. */
export function encodeLetter(letter: DeadLetter): string {
  try {
    return JSON.stringify(letterToJson(letter))
  } catch (error) {
    throw unwritableLetter(error)
  }
}

function unwritableLetter(cause: unknown): LetterError {
  const remedy = 'create letters with createLetter()'
  return new LetterError(
    'dead letter',
    [{ path: 'letter', received: 'a value that JSON cannot represent', remedy }],
    cause,
  )
}

/** Reads a letter from the JSON text of `encodeLetter`. It throws if the text is not a letter. */
export function decodeLetter(text: string): DeadLetter {
  return letterFromJson(parse(text))
}

function parse(text: string): unknown {
  try {
    return parseJson(text)
  } catch (error) {
    const fault = {
      path: 'text',
      received: 'text that is not JSON',
      remedy: 'give the complete JSON text that was stored',
    }
    throw new LetterError('stored dead letter', [fault], error)
  }
}

function readLetter(value: unknown, faults: Faults): DeadLetter | undefined {
  const stored = readVersioned(value, LETTER_VERSION, 'letter', faults)
  if (stored === undefined) return undefined
  const reader = new Reader(stored, 'letter', faults)
  const event = reader.group('event', readEvent)
  const letter = {
    v: LETTER_VERSION,
    id: reader.text('id'),
    channel: reader.text('channel'),
    handler: reader.text('handler'),
    event: event!,
    origin: reader.group('origin', readOrigin),
    state: reader.field('state', isLetterState, 'give a state of this version, or update Lazaret'),
    cycle: reader.group('cycle', readCycle),
    endedCycles: reader.list('endedCycles', readCycle),
    droppedCycles: reader.number('droppedCycles'),
    replays: reader.number('replays'),
    replayId: reader.optionalText('replayId'),
    createdAt: reader.number('createdAt'),
    updatedAt: reader.number('updatedAt'),
    expiresAt: reader.optionalNumber('expiresAt'),
    expiresAfterMs: reader.optional('expiresAfterMs', isTimeToLive, "give milliseconds above 0, or 'never'"),
    autoReplay: reader.optional('autoReplay', isTrue, 'give true, or leave it out'),
    ordering: reader.optional('ordering', isOrdering, 'give none or by-key, or leave it out'),
    detail: reader.optionalRecord<JsonValue>('detail'),
    metadata: reader.optionalRecord<JsonValue>('metadata'),
    job: reader.optionalText('job'),
    release: reader.optionalText('release'),
    host: reader.optionalText('host'),
  } satisfies EveryField<DeadLetter>
  // `readEvent` has reported the fault of a missing event.
  return event === undefined ? undefined : letter
}

function readOrigin(value: unknown, path: string, faults: Faults): Origin {
  const reader = new Reader(value, path, faults)
  return Object.fromEntries(
    reader.names().map(name => [name, reader.field(name, isPlace, 'give a string or a number')]),
  )
}

function isOrdering(value: unknown): value is NonNullable<DeadLetter['ordering']> {
  return value === 'none' || value === 'by-key'
}

function isPlace(value: unknown): value is number | string {
  return typeof value === 'string' || Number.isFinite(value)
}
