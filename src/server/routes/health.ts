import { healthReport } from '../../runtime/consumer/health.ts'
import { ProblemError } from '../http/problem.ts'
import { route } from '../http/route.ts'
import { alive, type ConsumerHealth, consumerHealth, ready } from '../schema/health.ts'
import { WAITING_STATES } from '../stores/figures.ts'
import { isoOr } from '../views/times.ts'

export const healthRoutes = [
  route({
    method: 'GET',
    path: '/healthz',
    about: 'Whether the process is alive.',
    access: 'public',
    answer: alive,
    handle: () => ({ status: 'UP' as const }),
  }),
  route({
    method: 'GET',
    path: '/readyz',
    about: 'Whether every store answers; 503 when one does not.',
    access: 'public',
    answer: ready,
    status: ({ status }) => (status === 'UP' ? 200 : 503),
    async handle({ room }) {
      const asked = room.stores.each(({ store }) => store.deadLetters.stats())
      const faults = await asked.then(
        gathered => new Map(gathered.faults.map(({ store, problem }) => [store, problem])),
        (error: unknown) => new Map(room.stores.all.map(({ name }) => [name, messageOf(error)])),
      )
      return {
        status: faults.size === 0 ? ('UP' as const) : ('DOWN' as const),
        // Whoever reaches the server may ask; what exactly is wrong is told to those who are let in.
        stores: room.stores.all.map(({ name }) => ({ name, up: !faults.has(name) })),
      }
    },
  }),
  route({
    method: 'GET',
    path: '/healthz/consumer',
    about:
      'How the consumers of this process are: UP, DEGRADED with many dead letters, DOWN with an open breaker.',
    access: 'public',
    answer: consumerHealth,
    status: ({ status }) => (status === 'UP' ? 200 : 503),
    async handle({ room }): Promise<ConsumerHealth> {
      const { found } = await room.stores.each(({ store }) => store.deadLetters.stats())
      const held = found.flatMap(({ value }) => WAITING_STATES.map(state => value.byState[state] ?? 0))
      const channels = room.consumers.all().map(({ health }) => health)
      const dlqSize = held.reduce((sum, count) => sum + count, 0)
      const report = healthReport(channels, dlqSize, room.settings.degradedAt)
      return {
        ...report,
        channels: report.channels.map(({ lastProcessedAt, paused, ...rest }) => ({
          ...rest,
          lastProcessedAt: isoOr(lastProcessedAt),
          paused: [...paused],
        })),
      }
    },
  }),
]

function messageOf(error: unknown): string {
  return error instanceof ProblemError ? error.message : 'it does not answer'
}
