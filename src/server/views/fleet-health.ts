import { breakerGauge } from '../../runtime/breaker.ts'
import type { RemoteConsumer, StoreInstance } from '../stores/fleet-reader.ts'

/** The health of each handler in other processes: the worst breaker and all pauses, the sum of the counts. */
export function healthByHandler(consumers: readonly RemoteConsumer[]) {
  const handlers = Map.groupBy(consumers, ({ channel, handler }) => JSON.stringify([channel, handler]))
  return [...handlers.values()].map(same => {
    const [{ channel, handler }] = same as [RemoteConsumer]
    const sum = (value: (each: RemoteConsumer) => number) =>
      same.reduce((total, each) => total + value(each), 0)
    const worst = same.reduce((a, b) => (breakerGauge(b.breaker) > breakerGauge(a.breaker) ? b : a))
    const perMinute = sum(each => each.perMinute)
    const times = same.flatMap(({ lastProcessedAt }) => lastProcessedAt ?? [])
    return {
      channel,
      handler,
      processes: same.length,
      breakerState: worst.breaker,
      paused: [...new Set(same.flatMap(({ paused }) => paused))],
      // A busy process counts for more than an idle one.
      failureRate: perMinute === 0 ? 0 : sum(each => each.perMinute * each.failureRate) / perMinute,
      active: sum(each => each.active),
      waiting: sum(each => each.waiting),
      lastProcessedAt: times.length === 0 ? undefined : Math.max(...times),
    }
  })
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
