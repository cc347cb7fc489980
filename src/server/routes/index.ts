import * as z from 'zod'
import type { ServerContext } from '../context.ts'
import { API, type Route, routeFor } from '../http/route.ts'
import { auditRoutes } from './audit.ts'
import { bulkRoutes } from './bulk.ts'
import { channelChangeRoutes } from './channel-changes.ts'
import { channelRoutes } from './channels.ts'
import { demoRoutes } from './demo.ts'
import { fleetRoutes } from './fleet.ts'
import { groupDifferenceRoutes } from './group-differences.ts'
import { groupTimelineRoutes } from './group-timeline.ts'
import { groupRoutes } from './groups.ts'
import { healthRoutes } from './health.ts'
import { letterRoutes } from './letters.ts'
import { maskRoutes } from './masks.ts'
import { overviewRoutes } from './overview.ts'
import { replayChangeRoutes } from './replay-changes.ts'
import { replayRoutes } from './replays.ts'
import { viewRoutes } from './views.ts'

/** Provides the OpenAPI document of all routes. */
interface OpenApiSource {
  document(): Readonly<Record<string, unknown>> & { readonly openapi: string }
}

const openApiRoute = routeFor<OpenApiSource>()({
  method: 'GET',
  path: `${API}/openapi.json`,
  about: 'Returns this API as an OpenAPI 3.1 document.',
  access: 'public',
  answer: z.looseObject({ openapi: z.string().describe('The version of the OpenAPI format.') }),
  handle: ({ context }) => ({ ...context.document() }),
})

/** All routes. If two match a path, the first one handles the request. */
export const ROUTES: readonly Route<ServerContext & OpenApiSource>[] = [
  ...healthRoutes,
  openApiRoute,
  ...overviewRoutes,
  ...channelRoutes,
  ...channelChangeRoutes,
  ...fleetRoutes,
  ...letterRoutes,
  ...bulkRoutes,
  ...viewRoutes,
  ...maskRoutes,
  ...groupRoutes,
  ...groupTimelineRoutes,
  ...groupDifferenceRoutes,
  ...replayChangeRoutes,
  ...replayRoutes,
  ...auditRoutes,
  ...demoRoutes,
]
