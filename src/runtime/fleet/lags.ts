import { type Clock, settlesWithin } from '../../ports/clock.ts'
import type { Consumer } from '../consumer/consumer.ts'

/** The longest wait for brokers that count their events. */
const WAIT_MS = 2_000

/** The numbers of events that wait. A broker that cannot count has none, and a slow one has none until it answers. */
export async function readLags(
  consumers: readonly Consumer[],
  clock: Clock,
  signal?: AbortSignal,
): Promise<ReadonlyMap<Consumer, number>> {
  const lags = new Map<Consumer, number>()
  const counting = consumers.map(async consumer => {
    const lag = await consumer.lag().catch(() => undefined)
    if (lag !== undefined) lags.set(consumer, lag)
  })
  await settlesWithin(clock, WAIT_MS, Promise.all(counting), signal)
  return lags
}
