import { Hono } from 'hono'
import type { Caller } from '../auth/callers.ts'
import type { Room } from '../room.ts'
import type { StoreFault } from '../schema/common.ts'
import { jsonWithTag } from './etag.ts'
import { secured } from './headers.ts'
import { checked, jsonOf, searchOf } from './input.ts'
import { ProblemError, problemOf, problemResponse } from './problem.ts'
import { API, type Asked, type Route } from './route.ts'

/** Whoever is not let in shares this bucket. */
const STRANGERS = ' strangers'
const NOBODY: Caller = Object.freeze({ name: 'nobody', role: 'viewer' })

/**
 * The way of a request: is it meant for us, who asks, not too fast, from where, may they, what exactly, then the
 * handler. Whatever fails on the way is answered as a problem, and every answer carries the security headers.
 */
export function createApp(
  routes: readonly Route[],
  room: Room,
  files: (request: Request) => Promise<Response>,
): Hono {
  const app = new Hono({ strict: false })
  app.use('*', async (context, next) => {
    room.hosts.requireKnown(context.req.raw)
    await next()
    context.res = secured(context.res)
  })
  for (const route of routes)
    app.on(route.method, route.path, context => answer(route, room, context.req.raw, context.req.param()))
  app.all('*', context => elsewhere(routes, context.req.raw, context.req.path, files))
  app.onError((error, context) => {
    const problem = problemOf(error)
    if (problem.kind === 'server-fault') room.onError(error)
    return secured(problemResponse(problem, context.req.path))
  })
  return app
}

async function answer(
  route: Route,
  room: Room,
  request: Request,
  params: Readonly<Record<string, string>>,
): Promise<Response> {
  const caller = route.access === 'public' ? NOBODY : identify(room, request)
  room.hosts.requireSameSite(request, room.callers.areNamed)
  if (route.action !== undefined) room.permissions.require(caller, route.action)
  const asked: Asked<unknown, unknown, unknown> = {
    room,
    caller,
    request,
    params: route.params && checked(route.params, params, 'path'),
    query: route.query && checked(route.query, searchOf(new URL(request.url)), 'query'),
    body: route.body && checked(route.body, await jsonOf(request), 'body'),
  }
  const answered = await route.handle(asked as Asked)
  return answered instanceof Response ? answered : toResponse(route, request, answered)
}

function identify(room: Room, request: Request): Caller {
  const now = room.clock.now()
  try {
    const caller = room.callers.identify(request)
    room.pace.require(caller.name, now)
    return caller
  } catch (error) {
    if (error instanceof ProblemError && error.kind === 'unauthenticated') room.pace.require(STRANGERS, now)
    throw error
  }
}

function toResponse(route: Route, request: Request, answered: unknown): Response {
  const text = JSON.stringify(answered)
  const status = route.status?.(answered) ?? 200
  const { faults } = answered as { faults?: readonly StoreFault[] }
  const partial: Record<string, string> =
    faults === undefined || faults.length === 0
      ? {}
      : { 'x-lazaret-partial': faults.map(({ store }) => encodeURIComponent(store)).join(', ') }
  if (route.method === 'GET' && status === 200) return jsonWithTag(request, text, partial)
  return new Response(text, { status, headers: { 'content-type': 'application/json', ...partial } })
}

/** A path of ours asked in another way, a path of the API that there is none of, or something of the console. */
function elsewhere(
  routes: readonly Route[],
  request: Request,
  path: string,
  files: (request: Request) => Promise<Response>,
): Promise<Response> {
  const others = routes.filter(route => pattern(route.path).test(path)).map(({ method }) => method)
  if (others.length > 0) throw wrongMethod(others)
  if (path === API || path.startsWith(`${API}/`))
    throw new ProblemError('not-found', `There is no such path; ${API}/openapi.json lists those there are.`)
  if (request.method !== 'GET' && request.method !== 'HEAD') throw wrongMethod(['GET'])
  return files(request)
}

function wrongMethod(methods: readonly string[]): ProblemError {
  const allow = methods.flatMap(method => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', ')
  return new ProblemError('method-not-allowed', `Use ${allow} here.`, { headers: { allow } })
}

function pattern(path: string): RegExp {
  return new RegExp(`^${path.replaceAll('.', '\\.').replace(/:\w+/g, '[^/]+')}/?$`)
}
