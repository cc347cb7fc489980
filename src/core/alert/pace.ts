/** When the latest messages were sent, oldest first: no minute ever sees more of them than are allowed. */
export type Sent = readonly number[]

export const MINUTE_MS = 60_000

/** Those of the last minute. */
export function recent(sent: Sent, now: number): Sent {
  const first = sent.findIndex(at => at > now - MINUTE_MS)
  return first === 0 ? sent : first === -1 ? [] : sent.slice(first)
}

/** From when on one more may be sent. */
export function slotAt(sent: Sent, perMinute: number): number {
  return sent.length < perMinute ? Number.NEGATIVE_INFINITY : sent[sent.length - perMinute]! + MINUTE_MS
}
