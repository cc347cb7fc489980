import type { Entry } from '../consume/entry.ts'
import { decode } from '../wire/event-codec.ts'

/** The id of the event in an entry, and the line that it stands in. An event without a key waits for no other: each has its own line. */
export function lineOf(
  { message, log }: Entry,
  channel: string,
  heldKey: string,
): { readonly id: string; readonly line: string } {
  const content = decode(message, channel, log.origin)
  if (!('id' in content)) return { id: heldKey, line: `place ${heldKey}` }
  const { id, key } = content
  return { id, line: key === undefined ? `place ${heldKey}` : `key ${key}` }
}
