import { join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import type { LazaretServer } from '../../src/server/index.ts'
import { HOME, secretOf } from './server-world.ts'
import { ROOT } from './source.ts'

/** What a tool answered. */
export interface ToolAnswer {
  readonly isError: boolean
  /** The first text: the words of the server. */
  readonly said: string
  readonly texts: readonly string[]
  // biome-ignore lint/suspicious/noExplicitAny: a test looks at any part of it
  readonly data: any
}

export interface Agent {
  readonly client: Client
  call(name: string, input?: Readonly<Record<string, unknown>>): Promise<ToolAnswer>
  close(): Promise<void>
}

type Mode = 'auto' | 'legacy'

function newClient(mode: Mode, name: string): Client {
  return new Client({ name, version: '1.0.0' }, { versionNegotiation: { mode } })
}

function agentOf(client: Client): Agent {
  return {
    client,
    async call(name, input = {}) {
      const {
        isError = false,
        content,
        structuredContent,
      } = await client.callTool({ name, arguments: input })
      const texts = content.map(part => (part.type === 'text' ? part.text : part.type))
      return { isError: isError === true, said: texts[0] ?? '', texts, data: structuredContent }
    },
    close: () => client.close(),
  }
}

/** An agent with the official client, on a server without a socket. */
export async function agentOn(
  server: Pick<LazaretServer, 'fetch'>,
  { token, mode = 'auto', name = 'tester' }: { token?: string; mode?: Mode; name?: string } = {},
): Promise<Agent> {
  const client = newClient(mode, name)
  const headers = token === undefined ? {} : { authorization: `Bearer ${secretOf(token)}` }
  const transport = new StreamableHTTPClientTransport(new URL(`${HOME}/mcp`), {
    requestInit: { headers },
    fetch: (url, init) => server.fetch(new Request(url, init)),
  })
  await client.connect(transport)
  return agentOf(client)
}

/** An agent with the official client, over a real socket. */
export async function agentAt(url: string, token: string, mode: Mode = 'auto'): Promise<Agent> {
  const client = newClient(mode, 'tester')
  const requestInit = { headers: { authorization: `Bearer ${token}` } }
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit }))
  return agentOf(client)
}

/** An agent with the official client, and `lazaret mcp` as its process. */
export async function agentWithProcess(
  args: readonly string[],
  cwd: string,
  mode: Mode = 'auto',
): Promise<Agent & { stderr(): string }> {
  const client = newClient(mode, 'tester')
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [join(ROOT, 'src/cli/main.ts'), 'mcp', ...args],
    env: { ...(process.env as Record<string, string>), USER: 'ann', NO_COLOR: '1', LAZARET_STORE: '' },
    cwd,
    stderr: 'pipe',
  })
  let said = ''
  transport.stderr?.on('data', (chunk: Buffer) => {
    said += chunk.toString()
  })
  await client.connect(transport)
  return { ...agentOf(client), stderr: () => said }
}
