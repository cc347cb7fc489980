import * as z from 'zod'
import { API, type Route, route } from '../http/route.ts'
import { auditRoutes } from './audit.ts'
import { channelRoutes } from './channels.ts'
import { demoRoutes } from './demo.ts'
import { groupRoutes } from './groups.ts'
import { healthRoutes } from './health.ts'
import { letterChangeRoutes } from './letter-changes.ts'
import { letterRoutes } from './letters.ts'
import { metricsRoutes } from './metrics.ts'
import { overviewRoutes } from './overview.ts'
import { purgeRoutes } from './purge.ts'
import { replayChangeRoutes } from './replay-changes.ts'
import { replayRoutes } from './replays.ts'
import { streamRoutes } from './stream.ts'
import { trendRoutes } from './trend.ts'

const described = route({
  method: 'GET',
  path: `${API}/openapi.json`,
  about: 'This API, as an OpenAPI 3.1 document.',
  access: 'public',
  answer: z.looseObject({ openapi: z.string() }),
  handle: ({ room }) => ({ ...room.describe() }),
})

/** Every route there is. Of two that fit a path, the earlier is taken. */
export const ROUTES: readonly Route[] = [
  ...healthRoutes,
  ...metricsRoutes,
  described,
  ...overviewRoutes,
  ...channelRoutes,
  ...trendRoutes,
  ...letterRoutes,
  ...letterChangeRoutes,
  ...purgeRoutes,
  ...groupRoutes,
  ...replayChangeRoutes,
  ...replayRoutes,
  ...auditRoutes,
  ...streamRoutes,
  ...demoRoutes,
]
