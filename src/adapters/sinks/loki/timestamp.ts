/** Nanoseconds in a millisecond. */
const MS_NS = 1_000_000
const COUNTERS = 4_096
/** The nanoseconds of each value of an id's counter. */
const COUNTER_NS = Math.floor(MS_NS / COUNTERS)

/**
 * Where in its millisecond an event is put. Events know milliseconds only, and Loki drops an entry that has the time
 * and the line of another. So it follows from the id: the same at every sending, which lets Loki drop the repetition,
 * and rising with the ids of one process, whose UUIDv7 count within a millisecond.
 */
export function nanosOf(id: string): number {
  if (id.length !== 36 || id.charCodeAt(14) !== SEVEN) return hashOf(id, 0) % MS_NS
  const counter = (hex(id, 15) << 8) | (hex(id, 16) << 4) | hex(id, 17)
  return counter * COUNTER_NS + (hashOf(id, LAST_DIGITS) % COUNTER_NS)
}

const SEVEN = '7'.charCodeAt(0)
/** The position of the random digits that distinguish ids of several processes. */
const LAST_DIGITS = 28

/** The value of a hex digit; of another character anything from 0 to 15. */
function hex(text: string, at: number): number {
  const code = text.charCodeAt(at)
  return (code < 58 ? code - 48 : code - 87) & 15
}

/** FNV-1a, 32 bits. */
function hashOf(text: string, from: number): number {
  let hash = 0x811c9dc5
  for (let at = from; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return hash >>> 0
}

/** Epoch nanoseconds as Loki reads them: a text, because they are more than a double can hold. */
export function nanosText(ms: number, nanos: number): string {
  return `${ms + Math.floor(nanos / MS_NS)}${String((nanos % MS_NS) + MS_NS).slice(1)}`
}
