import type { Readable, Writable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { loadClient } from '../../adapter-kit/load-client.ts'
import type { AgentRight } from '../../core/options/agents.ts'
import { createServerContext } from '../context.ts'
import type { ServerOptions } from '../options.ts'
import { MCP_PACKAGE } from './endpoint.ts'
import { createMcpServer } from './mcp-server.ts'

/** How a process serves one agent over its standard streams. */
interface StdioAgentOptions {
  /** The person who started the process, for the audit log. */
  readonly owner: string
  /** The rights of the agent beside reading [none]. */
  readonly allow?: readonly AgentRight[] | undefined
  readonly input: Readable
  readonly output: Writable
  /** Ends the service. */
  readonly signal: AbortSignal
}

/**
 * Serves one agent until its input ends. Without rights the process changes nothing. With the right to replay it also
 * runs started replays; a replay that is running when the process ends waits for another runner.
 */
export async function serveAgentOverStdio(
  options: ServerOptions,
  { owner, allow = [], input, output, signal }: StdioAgentOptions,
): Promise<void> {
  const mcp = await loadClient(MCP_PACKAGE, () => import('@modelcontextprotocol/server'))
  const stdio = await loadClient(MCP_PACKAGE, () => import('@modelcontextprotocol/server/stdio'))
  const context = createServerContext({
    ...options,
    readOnly: options.readOnly === true || allow.length === 0,
  })
  const session = {
    owner: { name: owner, role: 'admin', kind: 'local' } as const,
    rights: new Set(allow),
  }
  if (session.rights.has('replay')) context.runner.start()
  const handle = stdio.serveStdio(() => createMcpServer(mcp, context, session), {
    transport: new stdio.StdioServerTransport(input, output),
    onerror: context.onError,
  })
  try {
    // An input that is cut off ends the service like one that is closed.
    await finished(input, { writable: false, signal }).catch(() => {})
  } finally {
    input.destroy()
    await handle.close()
    await context.runner.close()
  }
}
