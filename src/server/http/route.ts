import type * as z from 'zod'
import type { Caller } from '../auth/caller.ts'
import type { Action } from '../schema/me.ts'

export const API = '/api/v1'

type Schema = z.ZodType | undefined
type Output<S> = S extends z.ZodType ? z.output<S> : undefined

/** The input of a handler: validated, from an authorised caller. `context` has the declared parts of the server. */
export interface HandlerInput<C, P = undefined, Q = undefined, B = undefined> {
  readonly context: C
  readonly caller: Caller
  readonly request: Request
  readonly params: P
  readonly query: Q
  readonly body: B
}

/**
 * Declares one route. Routing, validation, permissions, the OpenAPI document, the reference page and the tests of all
 * routes derive from it. A route that changes something names its action.
 */
interface RouteSpec<C, P extends Schema, Q extends Schema, B extends Schema, A extends z.ZodType> {
  readonly method: 'GET' | 'POST' | 'PATCH'
  /** With `:name` for parameters. */
  readonly path: string
  readonly about: string
  /** `public` needs no token. All other routes need an authenticated caller. */
  readonly access?: 'public'
  readonly action?: Action
  readonly params?: P
  readonly query?: Q
  readonly body?: B
  readonly answer: A
  /** The media type of the answer [application/json]. For another type the handler returns a Response. */
  readonly media?: string
  /** [200] */
  readonly status?: (answer: z.output<A>) => number
  /** Every status that `status` returns [200]. The OpenAPI document names them. */
  readonly statuses?: readonly number[]
  readonly handle: (
    input: HandlerInput<C, Output<P>, Output<Q>, Output<B>>,
  ) => Promise<z.output<A> | Response> | z.output<A> | Response
}

export type Route<C> = RouteSpec<C, Schema, Schema, Schema, z.ZodType>

/** Creates routes whose handlers receive only the part `C` of the server. */
export function routeFor<C>() {
  return <
    A extends z.ZodType,
    P extends Schema = undefined,
    Q extends Schema = undefined,
    B extends Schema = undefined,
  >(
    spec: RouteSpec<C, P, Q, B, A>,
    // The table drops the input types. The validation before the handler guarantees them.
  ): Route<C> => spec as unknown as Route<C>
}
