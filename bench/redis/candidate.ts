/** What every event of the benchmark carries: 256 bytes. */
export const PAYLOAD = { order: 4_711, note: 'x'.repeat(232) }
export const BATCH = 1_000

/** One that keeps events in Redis and hands them to a handler. Rates are of events a second. */
export interface Candidate {
  /** In batches of 1000, each awaited before the next. */
  publish(url: string, count: number): Promise<number>
  /** One call of a handler that does nothing for each event that is there. */
  process?(url: string, count: number): Promise<number>
  /** Every event fails at its first attempt, is put back, and succeeds at its second. */
  failOnce?(url: string, count: number): Promise<number>
}

export async function inBatches(count: number, send: () => Promise<unknown>): Promise<void> {
  for (let sent = 0; sent < count; sent += BATCH) await send()
}
