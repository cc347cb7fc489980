import * as z from 'zod'
import type { Caller } from '../auth/caller.ts'
import type { Permissions } from '../auth/permissions.ts'
import { checked } from './input.ts'
import type { HandlerInput, Route } from './route.ts'

/**
 * The parts of a request, as they came. Query and body are read after the permission is checked, the body last, because that takes the
 * longest.
 */
interface Given {
  readonly caller: Caller
  readonly request: Request
  readonly params: unknown
  query(): unknown
  body(): Promise<unknown>
}

const NO_PARAMETERS = z.strictObject({})

/** Runs the handler of a route for a caller: permission first, then input. Every way to the operations passes here. */
export async function runRoute<C extends { readonly permissions: Permissions }>(
  route: Route<C>,
  context: C,
  { caller, request, params, query, body }: Given,
): Promise<unknown> {
  if (route.action !== undefined) context.permissions.require(caller, route.action)
  const asked: HandlerInput<C, unknown, unknown, unknown> = {
    context,
    caller,
    request,
    params: route.params && checked(route.params, params, 'path'),
    query: queryOf(route, query),
    body: route.body && checked(route.body, await body(), 'body'),
  }
  return route.handle(asked as HandlerInput<C>)
}

/**
 * A mistyped parameter is refused: taken as absent, it would select more than the caller means. Probes, scrapers and clients of the
 * stream add parameters of their own, so these routes ignore them.
 */
function queryOf<C>({ query, access, media }: Route<C>, read: () => unknown): unknown {
  if (query !== undefined) return checked(query, read(), 'query')
  if (access === undefined && media === undefined) checked(NO_PARAMETERS, read(), 'query')
  return undefined
}
