/** Where a candidate sends to: every event to each of them. At the dead ones nobody listens. */
export interface Targets {
  readonly live: readonly string[]
  readonly dead: readonly string[]
}

export interface Candidate {
  /** Hands over an event, as a caller does that does not wait for it. */
  emit(order: number): void
  /** Resolves when a caller in a hurry may go on: however its makers hold such a caller back. */
  room(): Promise<unknown>
  close(): Promise<unknown>
}
