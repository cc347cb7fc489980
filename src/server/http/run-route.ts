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
    query: route.query && checked(route.query, query(), 'query'),
    body: route.body && checked(route.body, await body(), 'body'),
  }
  return route.handle(asked as HandlerInput<C>)
}
