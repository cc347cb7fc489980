import { decodeAttempts, encodeAttempts } from '../../../adapter-kit/delivery/attempt-history.ts'
import { type AttemptLog, EMPTY_LOG } from '../../../adapter-kit/delivery/tracked-delivery.ts'
import type { AttemptRecord } from '../../../core/dead-letter/letter.ts'
import type { TextCodec } from '../../../ports/codec.ts'
import { listOf, textOf } from '../connection/replies.ts'
import type { HandlerKeys, Side } from './keys.ts'

/** Names an entry. */
export interface EntryPlace {
  readonly side: Side
  readonly id: string
}

/** One entry of a stream. */
export interface Entry extends EntryPlace {
  /** Names and values in turn. */
  readonly fields: readonly string[]
}

/** The attempts of an entry, and the id that it had at first: an entry that is put back gets another id. */
export interface EntryLog extends AttemptLog {
  readonly from: string
}

/** The field of an entry that has its log. Scripts read and write its numbers, and pass the history on as it is. */
export const LOG_FIELD = 'lazaret-log'
/** The field that contains all others as a JSON list, if there are too many to put them back one by one. */
export const FIELDS_FIELD = 'lazaret-fields'

const LOG_FORM = /^(\d+-\d+) (\d+) (\d+) ?(.*)$/s
/** The character that replaces bytes of the server that are not UTF-8. */
const DAMAGED = '\uFFFD'

/** The entries of both streams, the handler's own stream first: its entries are redeliveries and have waited longer. */
export function readEntries(reply: unknown, keys: HandlerKeys): Entry[] {
  const entries: Entry[] = []
  for (const [stream, found] of streamsOf(reply)) {
    const side = textOf(stream) === keys.own ? 'own' : 'events'
    for (const each of listOf(found)) {
      const [id, fields] = each as [unknown, unknown]
      entries.push({ side, id: textOf(id), fields: fields as string[] })
    }
  }
  return entries
}

/** The name of an entry in scripts: `events 1-1`. */
export function markOf({ side, id }: EntryPlace): string {
  return `${side} ${id}`
}

export function fieldOf(fields: readonly string[], name: string): string | undefined {
  for (let at = 0; at + 1 < fields.length; at += 2) if (fields[at] === name) return fields[at + 1]
  return undefined
}

/** The fields as they were published, without those that were added when the entry was put back. */
export function sentFields(fields: readonly string[]): readonly string[] {
  const packed = fieldOf(fields, FIELDS_FIELD)
  const unpacked = packed === undefined ? undefined : unpack(packed)
  if (unpacked !== undefined) return unpacked
  const at = fields.findIndex((name, index) => index % 2 === 0 && name === LOG_FIELD)
  return at === -1 ? fields : fields.toSpliced(at, 2)
}

/** Returns undefined if another program wrote a field with this name. Then it is an ordinary field. */
function unpack(packed: string): readonly string[] | undefined {
  try {
    const words: unknown = JSON.parse(packed)
    return Array.isArray(words) && words.every(word => typeof word === 'string') ? words : undefined
  } catch {
    return undefined
  }
}

/** Whether the entry may differ from what the server has. */
export function mayBeDamaged({ fields }: Entry): boolean {
  return fields.some(word => word.includes(DAMAGED))
}

export function readLog({ side, id, fields }: Entry, texts: TextCodec | undefined): EntryLog {
  const text = side === 'own' ? fieldOf(fields, LOG_FIELD) : undefined
  if (text === undefined) return { ...EMPTY_LOG, from: id }
  const [, from = id, started = '0', ended = '0', history = ''] = LOG_FORM.exec(text) ?? []
  return { from, started: Number(started), ended: Number(ended), history: readHistory(history, texts) }
}

export function writeLog({ from, started, ended, history }: EntryLog, texts: TextCodec | undefined): string {
  const text = history.length === 0 ? '' : ` ${JSON.stringify(encodeAttempts(history, texts))}`
  return `${from} ${started} ${ended}${text}`
}

function readHistory(text: string, texts: TextCodec | undefined): readonly AttemptRecord[] {
  if (text === '') return EMPTY_LOG.history
  try {
    return decodeAttempts(JSON.parse(text) as AttemptRecord[], texts)
  } catch {
    // Another program wrote it. The counts are enough for decisions.
    return EMPTY_LOG.history
  }
}

/** Pairs in RESP2, an object or a Map in RESP3. */
function streamsOf(reply: unknown): Iterable<readonly [unknown, unknown]> {
  if (reply === null || reply === undefined) return []
  if (reply instanceof Map || Array.isArray(reply)) return reply as Iterable<readonly [unknown, unknown]>
  return Object.entries(reply)
}
