/** A time to live in milliseconds, or 'never'. */
export type TimeToLive = number | 'never'

export function isTimeToLive(value: unknown): value is TimeToLive {
  return value === 'never' || (typeof value === 'number' && Number.isFinite(value) && value > 0)
}
