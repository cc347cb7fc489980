import type { Clock } from '../ports/clock.ts'
import type { Consumer } from '../runtime/consumer/consumer.ts'
import type { ReplayEnvironment } from './target.ts'

const NO_CONSUMER = { answeredBy: 'nobody', reason: 'this process does not have its consumer' } as const

/** The part of a consumer that the gates ask. */
export type GateConsumer = Pick<Consumer, 'health' | 'breaker' | 'schema'>

/**
 * The gates that the consumers of this process answer for: the schema of their payloads, and whether they can take events now.
 * A consumer has both already, so a replay takes them from it.
 */
export function consumerGates(
  consumers: readonly GateConsumer[],
  clock: Clock,
): Required<Pick<ReplayEnvironment, 'schemaOf' | 'downstreamFault'>> {
  const of = (channel: string) =>
    consumers
      .map(consumer => ({ consumer, health: consumer.health() }))
      .filter(({ health }) => health.channel === channel)
  return {
    schemaOf(channel, handler) {
      const found = of(channel)
      // A redirected event has no handler of its own there: every handler of the channel gets it.
      const own = found.find(({ health }) => health.handler === handler) ?? found[0]
      return own?.consumer.schema
    },
    downstreamFault(channel, sink) {
      if (sink !== undefined || of(channel).length === 0) return { answer: NO_CONSUMER }
      const now = clock.now()
      for (const { consumer, health } of of(channel)) {
        // A breaker that admits a probe is not a fault.
        if (consumer.breaker?.wouldAdmit(now) === false) return `the breaker of ${health.handler} is open`
        if (health.paused.includes('manual')) return `the consumer ${health.handler} is paused manually`
      }
      return undefined
    },
  }
}
