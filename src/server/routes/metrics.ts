import * as z from 'zod'
import { METRICS_TEXT_TYPE } from '../../core/metrics/exposition.ts'
import { route } from '../http/route.ts'

export const metricsRoutes = [
  route({
    method: 'GET',
    path: '/metrics',
    about: 'Everything that is counted, as text for Prometheus.',
    answer: z.string(),
    media: 'text/plain',
    handle: async ({ room }) =>
      new Response(await room.metering.text(), { headers: { 'content-type': METRICS_TEXT_TYPE } }),
  }),
]
