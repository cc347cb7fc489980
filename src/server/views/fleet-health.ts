import type { RemoteConsumer, StoreInstance } from '../stores/fleet-reader.ts'
import { sumConsumers } from './consumer-sums.ts'
import { pick } from './pick.ts'

/** Each handler in other processes: the worst breaker and all pauses, the sum of the counts. */
export function sumsByHandler(consumers: readonly RemoteConsumer[]) {
  const handlers = Map.groupBy(consumers, ({ channel, handler }) => JSON.stringify([channel, handler]))
  return [...handlers.values()].map(same => ({ ...sumConsumers(same), channel: same[0]!.channel }))
}

/** The health of each handler in other processes. */
export function healthByHandler(consumers: readonly RemoteConsumer[]) {
  return sumsByHandler(consumers).map(sums => ({
    ...pick(
      sums,
      'channel',
      'handler',
      'processes',
      'paused',
      'stalled',
      'failureRate',
      'active',
      'waiting',
      'lastProcessedAt',
    ),
    breakerState: sums.breaker,
  }))
}

/**
 * The services that are gone: no process of them is alive, and the one that was seen last did not leave. A process that
 * crashed beside living ones, or before the service was stopped, does not count.
 */
export function goneServices(instances: readonly StoreInstance[]): readonly string[] {
  return [...Map.groupBy(instances, ({ report }) => report.service)]
    .filter(([, all]) => all.every(({ state }) => state !== 'alive') && all.reduce(seenLast).state === 'gone')
    .map(([service]) => service)
    .sort()
}

/** The stores measure the silence, so their clocks need not agree. */
function seenLast(a: StoreInstance, b: StoreInstance): StoreInstance {
  return b.silentMs < a.silentMs ? b : a
}
