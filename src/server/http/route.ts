import type * as z from 'zod'
import type { Caller } from '../auth/callers.ts'
import type { Room } from '../room.ts'
import type { Action } from '../schema/me.ts'

export const API = '/api/v1'

type Output<S> = S extends z.ZodType ? z.output<S> : undefined

/** What a handler is handed: checked, and from somebody who may ask it. */
export interface Asked<P = undefined, Q = undefined, B = undefined> {
  readonly room: Room
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
interface RouteSpec<
  P extends z.ZodType | undefined,
  Q extends z.ZodType | undefined,
  B extends z.ZodType | undefined,
  A extends z.ZodType,
> {
  readonly method: 'GET' | 'POST' | 'PATCH'
  /** With `:name` for parameters. */
  readonly path: string
  readonly about: string
  /** `public`: for whoever reaches the server. Anything else needs a caller who is let in. */
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
    asked: Asked<Output<P>, Output<Q>, Output<B>>,
  ) => Promise<z.output<A> | Response> | z.output<A> | Response
}

export type Route = RouteSpec<z.ZodType | undefined, z.ZodType | undefined, z.ZodType | undefined, z.ZodType>

/** A route among others, the types of what it takes forgotten: the checks before it have seen to it that they hold. */
export function route<
  A extends z.ZodType,
  P extends z.ZodType | undefined = undefined,
  Q extends z.ZodType | undefined = undefined,
  B extends z.ZodType | undefined = undefined,
>(spec: RouteSpec<P, Q, B, A>): Route {
  return spec as unknown as Route
}
