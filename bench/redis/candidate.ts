/** The payload of every event: 256 bytes. */
export const PAYLOAD = { order: 4_711, note: 'x'.repeat(232) }
export const BATCH = 1_000

/** A library that keeps events in Redis and runs a handler for each. Rates are in events per second. */
export interface Candidate {
  /** Publishes batches of 1000, one after the other. */
  publish(url: string, count: number): Promise<number>
  /** Runs a handler that does nothing for every event. */
  process?(url: string, count: number): Promise<number>
  /** Every event fails at its first attempt, is retried, and succeeds. */
  failOnce?(url: string, count: number): Promise<number>
}

export async function inBatches(count: number, send: () => Promise<unknown>): Promise<void> {
  for (let sent = 0; sent < count; sent += BATCH) await send()
}
