const LATEST = 8.64e15

/** Epoch milliseconds inside, ISO 8601 outside. A time that no calendar has is shown as the nearest that one has. */
export function iso(ms: number): string {
  return new Date(Math.max(-LATEST, Math.min(LATEST, ms))).toISOString()
}

/** For fields that may be absent. */
export function isoOr(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : iso(ms)
}
