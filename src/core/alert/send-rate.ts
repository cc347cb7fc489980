/** When the latest messages were sent, oldest first: no minute ever sees more of them than are allowed. */
export type SentTimes = readonly number[]

export const MINUTE_MS = 60_000

/** Those of the last minute. */
export function recent(sent: SentTimes, now: number): SentTimes {
  const first = sent.findIndex(at => at > now - MINUTE_MS)
  return first === 0 ? sent : first === -1 ? [] : sent.slice(first)
}

/** From when on one more may be sent. */
export function nextSlotAt(sent: SentTimes, perMinute: number): number {
  return sent.length < perMinute ? Number.NEGATIVE_INFINITY : sent[sent.length - perMinute]! + MINUTE_MS
}
