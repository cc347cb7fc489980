import type * as z from 'zod'
import type { Caller } from '../auth/authenticator.ts'
import type { Action } from '../schema/me.ts'

export const API = '/api/v1'

type Schema = z.ZodType | undefined
type Output<S> = S extends z.ZodType ? z.output<S> : undefined

/** What a handler is handed: checked, and from somebody who may ask it. `context` is the part of the server it named. */
export interface HandlerInput<C, P = undefined, Q = undefined, B = undefined> {
  readonly context: C
  readonly caller: Caller
  readonly request: Request
  readonly params: P
  readonly query: Q
  readonly body: B
}

/**
 * One line of the table that everything follows from: routing, checks, permissions, the OpenAPI document, its page in
 * the docs, and the tests that go over all routes. A route that changes something names the action it is.
 */
interface RouteSpec<C, P extends Schema, Q extends Schema, B extends Schema, A extends z.ZodType> {
  readonly method: 'GET' | 'POST' | 'PATCH'
  /** With `:name` for parameters. */
  readonly path: string
  readonly about: string
  /** `public`: for every client that reaches the server. Every other role needs an authenticated caller. */
  readonly access?: 'public'
  readonly action?: Action
  readonly params?: P
  readonly query?: Q
  readonly body?: B
  readonly answer: A
  /** What it is answered as [application/json]; a handler that answers otherwise makes the response itself. */
  readonly media?: string
  /** [200] */
  readonly status?: (answer: z.output<A>) => number
  readonly handle: (
    input: HandlerInput<C, Output<P>, Output<Q>, Output<B>>,
  ) => Promise<z.output<A> | Response> | z.output<A> | Response
}

export type Route<C> = RouteSpec<C, Schema, Schema, Schema, z.ZodType>

/** Makes the routes of a file, whose handlers get no more of the server than `C`. */
export function routeFor<C>() {
  return <
    A extends z.ZodType,
    P extends Schema = undefined,
    Q extends Schema = undefined,
    B extends Schema = undefined,
  >(
    spec: RouteSpec<C, P, Q, B, A>,
    // The types of what it takes are forgotten in the table: the checks before the handler have seen to it that they hold.
  ): Route<C> => spec as unknown as Route<C>
}
