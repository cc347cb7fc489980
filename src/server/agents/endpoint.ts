import type { McpHttpHandler } from '@modelcontextprotocol/server'
import { ClientMissingError, loadClient } from '../../adapter-kit/load-client.ts'
import type { Caller } from '../auth/caller.ts'
import type { ServerContext } from '../context.ts'
import { ProblemError } from '../problem.ts'
import { createMcpServer } from './mcp-server.ts'

export const MCP_PACKAGE = '@modelcontextprotocol/server'
const MAX_BODY_BYTES = 1_000_000
/** The server announces no changes to agents, so a client needs no more than one. */
const MAX_SUBSCRIPTIONS = 100

/** The tools for agents over HTTP: `POST /mcp`. The request is authenticated before it comes here. */
export class AgentEndpoint {
  readonly #context: ServerContext
  #handler: Promise<McpHttpHandler> | undefined

  constructor(context: ServerContext) {
    this.#context = context
  }

  readonly fetch = async (request: Request, caller: Caller): Promise<Response> => {
    if (this.#context.agents === undefined)
      throw new ProblemError('not-found', 'This server has no tools for agents: its config has agents: off.')
    if (caller.kind !== 'token' && caller.kind !== 'local')
      throw new ProblemError('forbidden', 'Agents need a token. Send the header Authorization: Bearer TOKEN.')
    const handler = await this.#load()
    const authInfo = { token: '', clientId: caller.name, scopes: [], extra: { caller } }
    return handler.fetch(request, { authInfo })
  }

  async close(): Promise<void> {
    const handler = await this.#handler?.catch(() => undefined)
    await handler?.close()
  }

  async #load(): Promise<McpHttpHandler> {
    this.#handler ??= this.#create()
    try {
      return await this.#handler
    } catch (error) {
      this.#handler = undefined
      if (error instanceof ClientMissingError) throw new ProblemError('unprocessable', error.message)
      throw error
    }
  }

  async #create(): Promise<McpHttpHandler> {
    const context = this.#context
    const mcp = await loadClient(MCP_PACKAGE, () => import('@modelcontextprotocol/server'))
    const rights = new Set(context.agents?.allow)
    return mcp.createMcpHandler(
      ({ authInfo }) =>
        createMcpServer(mcp, context, { owner: authInfo?.extra?.['caller'] as Caller, rights }),
      { maxRequestBodySize: MAX_BODY_BYTES, maxSubscriptions: MAX_SUBSCRIPTIONS },
    )
  }
}
