import { listOf, textOf } from '../connection/replies.ts'
import type { HandlerPlaces, Side } from './keys.ts'
import { FIELDS_FIELD, PAST_FIELD } from './past.ts'

/** What a stream has under one id: names and values in turn. */
export interface Entry {
  readonly side: Side
  readonly id: string
  readonly fields: readonly string[]
}

/** An entry that was deleted while it was pending: there is nothing left of it but its id. */
export type Hole = Pick<Entry, 'side' | 'id'>

/** What stands in a reply where the server's bytes were no UTF-8. */
const DAMAGED = '\uFFFD'

/** Of both streams, the handler's own first: what comes again has waited longer. */
export function readEntries(reply: unknown, places: HandlerPlaces): { entries: Entry[]; holes: Hole[] } {
  const entries: Entry[] = []
  const holes: Hole[] = []
  for (const [stream, found] of streamsOf(reply)) {
    const side = textOf(stream) === places.own ? 'own' : 'events'
    for (const each of listOf(found)) {
      const [id, fields] = each as [unknown, unknown]
      if (Array.isArray(fields)) entries.push({ side, id: textOf(id), fields: fields as string[] })
      else holes.push({ side, id: textOf(id) })
    }
  }
  return { entries, holes }
}

export function fieldOf(fields: readonly string[], name: string): string | undefined {
  for (let at = 0; at + 1 < fields.length; at += 2) if (fields[at] === name) return fields[at + 1]
  return undefined
}

/** Without what was written beside them when the entry was put back. */
export function sentFields(fields: readonly string[]): readonly string[] {
  const packed = fieldOf(fields, FIELDS_FIELD)
  const unpacked = packed === undefined ? undefined : unpack(packed)
  if (unpacked !== undefined) return unpacked
  if (fieldOf(fields, PAST_FIELD) === undefined) return fields
  const at = fields.findIndex((name, index) => index % 2 === 0 && name === PAST_FIELD)
  return fields.toSpliced(at, 2)
}

/** Undefined for what somebody else has written under that name: it is a field like any other. */
function unpack(packed: string): readonly string[] | undefined {
  try {
    const words: unknown = JSON.parse(packed)
    return Array.isArray(words) && words.every(word => typeof word === 'string') ? words : undefined
  } catch {
    return undefined
  }
}

/** Whether some of it may not be what the server has. */
export function mayBeDamaged({ fields }: Entry): boolean {
  return fields.some(word => word.includes(DAMAGED))
}

/** Pairs in RESP2, an object or a Map in RESP3. */
function streamsOf(reply: unknown): Iterable<readonly [unknown, unknown]> {
  if (reply === null || reply === undefined) return []
  if (reply instanceof Map || Array.isArray(reply)) return reply as Iterable<readonly [unknown, unknown]>
  return Object.entries(reply)
}
