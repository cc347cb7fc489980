import type { Readable, Writable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { loadClient } from '../../adapter-kit/load-client.ts'
import type { AgentRight } from '../../core/options/agents.ts'
import { createServerContext } from '../context.ts'
import type { ServerOptions } from '../options.ts'
import { MCP_PACKAGE } from './endpoint.ts'
import { createMcpServer } from './mcp-server.ts'
import { OpenRequests } from './open-requests.ts'

/** Options of `serveAgent()`: those of `createServer()`, and these. */
export interface ServeAgentOptions extends ServerOptions {
  /** The person or program that the agent works for, for the audit log. */
  readonly owner: string
  /** The rights of the agent beside reading [none]. `agents.allow` has no effect here. */
  readonly allow?: readonly AgentRight[] | undefined
  /** The stream that the client writes to [stdin]. */
  readonly input?: Readable | undefined
  /** The stream that the client reads from [stdout]. Nothing else may write to it. */
  readonly output?: Writable | undefined
  /** Ends the service [never: it ends with the input]. */
  readonly signal?: AbortSignal | undefined
}

/**
 * Serves one agent over two streams until the input ends, and answers the requests that it has read by then. Without rights the process changes nothing. With the right to
 * replay it also runs started replays; a replay that is running when the process ends waits for another runner.
 */
export async function serveAgent(options: ServeAgentOptions): Promise<void> {
  const { owner, allow = [], input = process.stdin, output = process.stdout, signal, ...given } = options
  const mcp = await loadClient(MCP_PACKAGE, () => import('@modelcontextprotocol/server'))
  const stdio = await loadClient(MCP_PACKAGE, () => import('@modelcontextprotocol/server/stdio'))
  const context = createServerContext({
    ...given,
    readOnly: given.readOnly === true || allow.length === 0,
  })
  const session = {
    owner: { name: owner, role: 'admin', kind: 'local' } as const,
    rights: new Set(allow),
  }
  if (session.rights.has('replay')) context.runner.start()
  const closed = Promise.withResolvers<void>()
  let closing: Promise<void> | undefined
  const transport = new stdio.StdioServerTransport(input, output)
  const close = transport.close.bind(transport)
  // The transport closes itself when the input ends, when the output fails, and when a message is too long.
  transport.close = () => {
    closing ??= mayAnswer(input, output) ? requests.end(signal).then(close) : close()
    return closing.finally(closed.resolve)
  }
  const handle = stdio.serveStdio(() => createMcpServer(mcp, context, session), {
    transport,
    onerror: context.onError,
  })
  const requests = new OpenRequests(transport, context.clock)
  try {
    // An input that is cut off ends the service like one that is closed.
    const ended = finished(input, { writable: false, ...(signal && { signal }) }).catch(() => {})
    await Promise.race([ended, closed.promise])
    await transport.close()
  } finally {
    input.destroy()
    await handle.close()
    await context.runner.close()
  }
}

/** A client that has ended the input may still read the output. */
function mayAnswer(input: Readable, output: Writable): boolean {
  return (input.readableEnded || input.destroyed) && output.errored == null && !output.destroyed
}
