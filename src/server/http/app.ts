import { createHash } from 'node:crypto'
import { Hono } from 'hono'
import type { Clock } from '../../ports/clock.ts'
import type { Authenticated, Authenticator } from '../auth/authenticator.ts'
import type { Caller } from '../auth/caller.ts'
import type { Permissions } from '../auth/permissions.ts'
import type { Connection } from '../auth/proxy-headers.ts'
import type { RequestLimiter } from '../auth/request-limiter.ts'
import type { SignInParts } from '../auth/sign-in.ts'
import { CALLBACK_PATH, noSignIn, SIGN_IN_PATH, SIGN_OUT_PATH } from '../auth/sign-in-pages.ts'
import { ProblemError, problemOf, problemResponse } from '../problem.ts'
import type { StoreFault } from '../store-fault.ts'
import type { AllowedHosts } from './allowed-hosts.ts'
import { withSecurityHeaders } from './headers.ts'
import { jsonOf, searchOf } from './input.ts'
import { API, type Route } from './route.ts'
import { runRoute } from './run-route.ts'

/** Unauthenticated requests share this rate limit. The space keeps it apart from token names. */
const UNAUTHENTICATED = ' unauthenticated'
/** Agents reach the tools of the server here, over the Model Context Protocol. */
const AGENTS_PATH = '/mcp'
const ANONYMOUS: Caller = Object.freeze({ name: 'anonymous', role: 'viewer', kind: 'local' })

/** The parts that check a request before its handler runs. */
interface RequestChecks {
  readonly hosts: AllowedHosts
  readonly authenticator: Authenticator
  readonly signIn: SignInParts | undefined
  readonly permissions: Permissions
  readonly requestLimiter: RequestLimiter
  readonly clock: Clock
  readonly basePath: string
  onError(error: unknown): void
}

/**
 * The order of the checks: host name, token or session, rate limit, origin, permission, input; then the handler runs. Every error is
 * answered as a problem, and every response has the security headers.
 */
export function createApp<C extends RequestChecks>(
  routes: readonly Route<C>[],
  context: C,
  files: (request: Request) => Promise<Response>,
  agents: (request: Request, caller: Caller) => Promise<Response>,
): Hono<{ Bindings: Connection }> {
  const app = new Hono<{ Bindings: Connection }>({ strict: false })
  app.use('*', async (asked, next) => {
    context.hosts.requireKnown(asked.req.raw)
    await next()
    asked.res = withSecurityHeaders(asked.res)
  })
  for (const route of routes)
    app.on(route.method, context.basePath + route.path, ({ req, env }) =>
      answer(route, context, req.raw, req.param(), env),
    )
  app.all(context.basePath + AGENTS_PATH, async ({ req, env }) => {
    const { caller } = authenticate(context, req.raw, env)
    context.hosts.requireSameSite(req.raw, !context.authenticator.isOpen || isJson(req.raw))
    return agents(req.raw, caller)
  })
  addSignIn(app, context)
  app.all('*', ({ req }) => handleUnmatched(routes, context.basePath, req, files))
  app.onError((error, { req }) => {
    const problem = problemOf(error)
    if (problem.kind === 'server-fault') context.onError(error)
    return withSecurityHeaders(problemResponse(problem, req.path))
  })
  return app
}

/**
 * A page of another site cannot send JSON without asking first, and the server never says yes. So a request with JSON and
 * without an origin comes from a program.
 */
function isJson(request: Request): boolean {
  return /^application\/json\b/i.test(request.headers.get('content-type') ?? '')
}

async function answer<C extends RequestChecks>(
  route: Route<C>,
  context: C,
  request: Request,
  params: Readonly<Record<string, string>>,
  connection: Connection,
): Promise<Response> {
  const { caller, cookie } =
    route.access === 'public' ? { caller: ANONYMOUS } : authenticate(context, request, connection)
  context.hosts.requireSameSite(request, !context.authenticator.isOpen)
  if (caller.agentOnly === true)
    throw new ProblemError('forbidden', `This token is for agents. It works at ${AGENTS_PATH} only.`)
  const given = {
    ...{ caller, request, params },
    query: () => searchOf(new URL(request.url)),
    body: () => jsonOf(request),
  }
  const answered = await runRoute(route, context, given)
  const response = answered instanceof Response ? answered : toResponse(route, request, answered)
  if (cookie !== undefined) response.headers.append('set-cookie', cookie)
  return response
}

function authenticate(
  { authenticator, requestLimiter, clock }: RequestChecks,
  request: Request,
  connection: Connection,
): Authenticated {
  const now = clock.now()
  try {
    const authenticated = authenticator.authenticate(request, connection, now)
    requestLimiter.require(authenticated.caller.name, now)
    return authenticated
  } catch (error) {
    if (error instanceof ProblemError && error.kind === 'unauthenticated')
      requestLimiter.require(UNAUTHENTICATED, now)
    throw error
  }
}

/** The addresses of the sign-in. They are pages of a browser and no part of the API. */
function addSignIn(app: Hono<{ Bindings: Connection }>, context: RequestChecks): void {
  const { basePath, requestLimiter, clock } = context
  const pages = () => {
    requestLimiter.require(UNAUTHENTICATED, clock.now())
    if (context.signIn?.pages === undefined) throw noSignIn()
    return context.signIn.pages
  }
  app.get(basePath + SIGN_IN_PATH, ({ req }) => pages().begin(req.raw))
  app.get(basePath + CALLBACK_PATH, ({ req }) => pages().finish(req.raw))
  app.post(basePath + SIGN_OUT_PATH, ({ req }) => pages().end(req.raw))
}

function toResponse(
  route: Pick<Route<never>, 'method' | 'status'>,
  request: Request,
  answered: unknown,
): Response {
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

/**
 * Handles requests without a route: a path of another server, a wrong method, an unknown path of the API, or a file of the
 * console.
 */
function handleUnmatched(
  routes: readonly Pick<Route<never>, 'method' | 'path'>[],
  basePath: string,
  { path: asked, raw: request }: { readonly path: string; readonly raw: Request },
  files: (request: Request) => Promise<Response>,
): Promise<Response> {
  if (asked !== basePath && !asked.startsWith(`${basePath}/`))
    throw new ProblemError(
      'not-found',
      `The paths of this server begin with ${basePath}/. If a proxy removes that, let it pass the whole path on.`,
    )
  const path = asked.slice(basePath.length)
  const others = routes.filter(route => pattern(route.path).test(path)).map(({ method }) => method)
  if (others.length > 0) throw wrongMethod(others)
  if (path === API || path.startsWith(`${API}/`))
    throw new ProblemError('not-found', `Unknown path. ${basePath}${API}/openapi.json lists all paths.`)
  if (request.method !== 'GET' && request.method !== 'HEAD') throw wrongMethod(['GET'])
  return files(request)
}

function wrongMethod(methods: readonly string[]): ProblemError {
  const allow = methods.flatMap(method => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', ')
  return new ProblemError('method-not-allowed', `This path supports ${allow}.`, { headers: { allow } })
}

function pattern(path: string): RegExp {
  return new RegExp(`^${path.replaceAll('.', '\\.').replace(/:\w+/g, '[^/]+')}/?$`)
}

/** JSON with an ETag. A client that has the same content receives a 304 without a body. */
function jsonWithTag(request: Request, text: string, headers: Readonly<Record<string, string>>): Response {
  const tag = `W/"${createHash('sha1').update(text).digest('base64url')}"`
  const known = (request.headers.get('if-none-match') ?? '').split(',').map(each => each.trim())
  // Clients may cache the response, but must revalidate it.
  const kept = { ...headers, etag: tag, 'cache-control': 'private, no-cache' }
  if (known.includes(tag)) return new Response(null, { status: 304, headers: kept })
  return new Response(text, { headers: { ...kept, 'content-type': 'application/json' } })
}
