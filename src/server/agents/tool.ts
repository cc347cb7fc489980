import type * as z from 'zod'
import type { AgentRight } from '../../core/options/agents.ts'
import type { Caller } from '../auth/caller.ts'
import type { ServerContext } from '../context.ts'
import { API } from '../http/route.ts'
import { runRoute } from '../http/run-route.ts'
import { ROUTES } from '../routes/index.ts'
import type { Action } from '../schema/me.ts'
import { type Marked, markUntrusted } from './untrusted.ts'

/** A call of an agent: who asks, and how the tool reaches the operations of the API. */
export interface ToolCall {
  readonly context: ServerContext
  readonly caller: Caller
  readonly signal: AbortSignal
}

/** What a tool does to the data of the server. Clients show it to the person before a call. */
interface ToolAnnotations {
  readonly readOnlyHint: boolean
  readonly destructiveHint: boolean
  readonly idempotentHint: boolean
  readonly openWorldHint: boolean
}

interface ToolSpec<I extends z.ZodObject, A extends z.ZodObject> {
  readonly name: string
  readonly title: string
  readonly about: string
  /** The right that the agent needs; `read` needs none. */
  readonly right: 'read' | AgentRight
  /** The actions of the API that the tool runs. */
  readonly actions: readonly Action[]
  /** What it changes, for the reference; undefined for a tool that reads. */
  readonly changes?: string
  /** A change that takes something away: it discards, or it ends a replay. */
  readonly isDestructive?: boolean
  /** A second call with the same input changes nothing more. Tools that read always are. */
  readonly isIdempotent?: boolean
  readonly input: I
  readonly answer: A
  run(call: ToolCall, input: z.output<I>): Promise<z.output<A>>
  /** One or two sentences about the answer, in words of ours alone: no field from outside. */
  say(answer: z.output<A>): string
}

/**
 * One tool. Both transports, the permission check, the reference page and the tests derive from the table of tools. A tool runs
 * routes of the API and has no other way to the data.
 */
export interface Tool {
  readonly name: string
  readonly title: string
  readonly about: string
  readonly right: 'read' | AgentRight
  readonly actions: readonly Action[]
  readonly changes: string | undefined
  readonly annotations: ToolAnnotations
  readonly input: z.ZodObject
  readonly output: Marked
  run(call: ToolCall, input: unknown): Promise<unknown>
  say(answer: unknown): string
}

export function tool<I extends z.ZodObject, A extends z.ZodObject>(spec: ToolSpec<I, A>): Tool {
  const { answer, changes, isDestructive = false, isIdempotent = false, ...rest } = spec
  const isReading = spec.right === 'read'
  let output: Marked | undefined
  return {
    ...(rest as unknown as Omit<Tool, 'changes' | 'annotations' | 'output'>),
    changes,
    annotations: {
      readOnlyHint: isReading,
      destructiveHint: isDestructive,
      idempotentHint: isReading || isIdempotent,
      // A started replay reaches the consumers of other systems.
      openWorldHint: spec.right === 'replay',
    },
    // Made for the first agent, because most servers start without one.
    get output() {
      output ??= markUntrusted(answer)
      return output
    },
  }
}

interface Parts {
  readonly params?: Readonly<Record<string, unknown>>
  readonly query?: Readonly<Record<string, unknown>>
  readonly body?: Readonly<Record<string, unknown>>
}

/** Runs a route of the API for the agent, with the checks of the API. `path` is the one of the route, with its parameters. */
export async function askRoute<T>(
  { context, caller, signal }: ToolCall,
  method: 'GET' | 'POST' | 'PATCH',
  path: string,
  { params = {}, query = {}, body = {} }: Parts,
): Promise<T> {
  const route = ROUTES.find(each => each.method === method && each.path === API + path)
  if (route === undefined) throw new TypeError(`${method} ${path} is not a route`)
  const request = new Request(`http://agent.invalid${API}`, { method, signal })
  // The document of the API is the only route that needs more than the parts of the server.
  const whole = { ...context, document: () => ({ openapi: '' }) }
  const given = { caller, request, params, query: () => query, body: async () => body }
  return (await runRoute(route, whole, given)) as T
}

export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

export function more(cursor: string | undefined): string {
  return cursor === undefined ? '' : ' Call the tool again with the cursor for the next page.'
}
