/** The receivers of a candidate. Every receiver gets every event; no process listens at the dead URLs. */
export interface Targets {
  readonly live: readonly string[]
  readonly dead: readonly string[]
}

export interface Candidate {
  /** Sends an event like a caller that does not wait. */
  emit(order: number): void
  /** Resolves when a fast caller may continue, with the backpressure of the candidate. */
  room(): Promise<unknown>
  close(): Promise<unknown>
}
