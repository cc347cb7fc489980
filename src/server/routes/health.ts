import * as z from 'zod'
import { countWaiting } from '../../core/dead-letter/state.ts'
import { METRICS_TEXT_TYPE } from '../../core/metrics/exposition.ts'
import type { StalledPart } from '../../ports/broker.ts'
import {
  healthReport,
  type ConsumerHealth as LocalHealth,
  summarizeHealth,
} from '../../runtime/consumer/health.ts'
import type { Stall } from '../../runtime/consumer/pauses.ts'
import type { ServerContext } from '../context.ts'
import { routeFor } from '../http/route.ts'
import { isoOr } from '../schema/common.ts'
import { alive, type ConsumerHealth, consumerHealth, ready } from '../schema/health.ts'
import type { FleetReader } from '../stores/fleet-reader.ts'
import { goneServices, healthByHandler } from '../views/fleet-health.ts'

const route =
  routeFor<
    Pick<ServerContext, 'healthCheck' | 'stores' | 'consumers' | 'fleet' | 'degradedAt' | 'metricsEndpoint'>
  >()
export const healthRoutes = [
  route({
    method: 'GET',
    path: '/healthz',
    about: 'Reports that the process is alive.',
    access: 'public',
    answer: alive,
    handle: () => ({ status: 'UP' as const }),
  }),
  route({
    method: 'GET',
    path: '/readyz',
    about: 'Reports whether every store answers; 503 when one does not.',
    access: 'public',
    answer: ready,
    status: ({ status }) => (status === 'UP' ? 200 : 503),
    statuses: [200, 503],
    async handle({ context }) {
      const { down } = await context.healthCheck.checkStores()
      return {
        status: down.length === 0 ? ('UP' as const) : ('DOWN' as const),
        stores: context.stores.all.map(({ name }) => ({ name, up: !down.includes(name) })),
      }
    },
  }),
  route({
    method: 'GET',
    path: '/healthz/consumer',
    about:
      'Reports the health of the consumers in this process, or of the fleet if this process has none: UP, DEGRADED with many dead letters, a stalled consumer, letters in a spill or an unreachable store or broker, DOWN with an open breaker or a service that is gone.',
    access: 'public',
    answer: consumerHealth,
    status: ({ status }) => (status === 'UP' ? 200 : 503),
    statuses: [200, 503],
    async handle({ context }): Promise<ConsumerHealth> {
      const { stores, queues } = await context.healthCheck.checkLetters()
      const { stats } = stores
      const own = context.consumers.all().map(({ health }) => health)
      // A fleet that cannot be read has no processes that could say what is wrong.
      const unread = own.length > 0 ? [] : await context.fleet.unreadStores()
      const down = [...new Set([...stores.down, ...unread])]
      const dlqSize = stats.reduce((sum, { byState }) => sum + countWaiting(byState), queues.total)
      const report =
        own.length > 0
          ? ownHealth(own, dlqSize, context.degradedAt)
          : await fleetHealth(context.fleet, dlqSize, context.degradedAt)
      return {
        ...report,
        // While a store or broker is down, the number of letters is unknown and new letters may not be saved.
        status: report.status === 'UP' && down.length + queues.down.length > 0 ? 'DEGRADED' : report.status,
        ...(down.length === 0 ? {} : { storesDown: down }),
        ...(queues.down.length === 0 ? {} : { brokersDown: [...queues.down] }),
      }
    },
  }),
  route({
    method: 'GET',
    path: '/metrics',
    about: 'Returns all metrics in the Prometheus text format.',
    answer: z.string(),
    media: 'text/plain',
    handle: async ({ context }) =>
      new Response(await context.metricsEndpoint.text(), { headers: { 'content-type': METRICS_TEXT_TYPE } }),
  }),
]

function ownHealth(consumers: readonly LocalHealth[], dlqSize: number, degradedAt: number): ConsumerHealth {
  const { channels, ...report } = healthReport(consumers, dlqSize, degradedAt)
  return {
    ...report,
    channels: channels.map(({ lastProcessedAt, paused, userFunctions, stalls, spill, ...rest }) => ({
      ...rest,
      lastProcessedAt: isoOr(lastProcessedAt),
      paused: [...paused],
      // The error text stays out: it may quote a payload, and this route needs no token.
      userFunctionFailures: userFunctions.failures,
      // The problem text stays out too: it names servers and queues.
      ...(stalls === undefined ? {} : { stalled: stalls.map(({ place }) => place) }),
      ...(spill === undefined ? {} : { spilled: spill.size }),
    })),
  }
}

/** A server without consumers speaks for the processes that report to its stores. */
async function fleetHealth(fleet: FleetReader, dlqSize: number, degradedAt: number): Promise<ConsumerHealth> {
  const [instances, consumers] = await Promise.all([fleet.instances(), fleet.remoteConsumers()])
  const gone = goneServices(instances)
  const channels = healthByHandler(consumers)
  const report = summarizeHealth(
    channels.map(({ stalled = [], ...each }) => ({ ...each, stalls: stalled.map(withoutProblem) })),
    dlqSize,
    degradedAt,
  )
  return {
    ...report,
    status: gone.length > 0 ? 'DOWN' : report.status,
    channels: channels.map(({ lastProcessedAt, ...rest }) => ({
      ...rest,
      lastProcessedAt: isoOr(lastProcessedAt),
    })),
    fleet: { alive: instances.filter(({ state }) => state === 'alive').length, gone: [...gone] },
  }
}

/** Processes report only what is stalled: the problem names servers and queues. */
function withoutProblem(place: StalledPart): Stall {
  return { place, problem: '' }
}
