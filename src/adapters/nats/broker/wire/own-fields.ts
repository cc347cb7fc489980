/** What an event has and a CloudEvent in binary mode has no attribute for. Absent fields have their usual value. */
export interface OwnFields {
  readonly v: 1
  readonly channel: string
  readonly idempotencyKey?: string
  readonly expiresAt?: number
  /** CloudEvents require a source; the event has none. */
  readonly hasNoSource?: true
  /** Headers that a header of NATS cannot carry, or whose names stand for something else. */
  readonly headers?: Record<string, string>
}
