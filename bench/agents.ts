import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { BUILT, startLazaret } from './harness/lazaret-server.ts'
import { withTempFolder } from './harness/load.ts'
import { percentile } from './harness/percentile.ts'
import { atMost, type BenchResult, machine, row } from './harness/result.ts'

const execute = promisify(execFile)
const FILL = fileURLToPath(new URL('./stores-sqlite-million.ts', import.meta.url))
/** With this interval, thirty days have a million letters. */
const EVERY_MS = 2_592
const YEAR_MS = 31_536_000_000
const ROUNDS = 60
const MOST_MS = 200

type Input = Readonly<Record<string, unknown>>
interface Call {
  readonly tool: string
  readonly input: Input
}

/** The tools that read, over HTTP with the official client, on SQLite with a million letters. */
export async function run(): Promise<BenchResult> {
  return await withTempFolder(async dir => {
    const path = join(dir, 'million.db')
    await execute(process.execPath, [FILL, path, String(EVERY_MS)])
    // The bench asks as fast as it can.
    const config = join(dir, 'lazaret.yaml')
    await writeFile(config, 'agents: { rateLimit: { perSecond: 100000 } }\n')
    const server = await startLazaret(`sqlite:${path}`, BUILT, ['--config', config])
    try {
      return await measure(server.url)
    } finally {
      await server.stop()
    }
  })
}

async function measure(url: string): Promise<BenchResult> {
  const client = new Client({ name: 'bench', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } })
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`)))
  const call = async ({ tool, input }: Call) => {
    const { isError, structuredContent, content } = await client.callTool({ name: tool, arguments: input })
    if (isError === true) throw new Error(`${tool}: ${JSON.stringify(content)}`)
    // biome-ignore lint/suspicious/noExplicitAny: the calls below know the fields that they read
    return structuredContent as any
  }
  const calls = await callsOf(call, url)
  const times = new Map<string, number[]>()
  // The first round meets a server with empty caches and is not counted.
  for (let round = 0; round <= ROUNDS; round++)
    for (const [name, each] of Object.entries(calls)) {
      const begin = process.hrtime.bigint()
      await call(each(round))
      if (round > 0)
        times.set(name, [...(times.get(name) ?? []), Number(process.hrtime.bigint() - begin) / 1e6])
    }
  await client.close()
  const rows = [...times].map(([name, all]) => row(name, 'ms', all))
  return {
    bench: 'agents',
    machine: machine(),
    rows,
    bars: [...times].map(([name, all]) => atMost(`${name}, p95 ms`, percentile(all, 0.95), MOST_MS)),
  }
}

/** One call of each tool that reads, and of lists with filters. Each round asks for something else, where that is possible. */
async function callsOf(
  // biome-ignore lint/suspicious/noExplicitAny: each caller knows the fields that it reads
  call: (each: Call) => Promise<any>,
  url: string,
): Promise<Readonly<Record<string, (round: number) => Call>>> {
  const { letters, cursor } = await call({ tool: 'list_dlq_events', input: { limit: 100 } })
  const { groups } = await call({ tool: 'list_groups', input: { limit: 100 } })
  const planned = await fetch(`${url}/api/v1/replays`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: url },
    body: JSON.stringify({
      ids: letters.map(({ id }: { id: string }) => id),
      reason: 'a bench',
      to: 'channel-0',
      maxAgeMs: YEAR_MS,
    }),
  })
  if (!planned.ok) throw new Error(`no plan: ${await planned.text()}`)
  const { id: replay } = (await planned.json()) as { readonly id: string }
  const nth = <T>(all: readonly T[], round: number) => all[round % all.length]!
  return {
    get_overview: () => ({ tool: 'get_overview', input: {} }),
    list_channels: () => ({ tool: 'list_channels', input: {} }),
    list_groups: () => ({ tool: 'list_groups', input: {} }),
    get_group: round => ({ tool: 'get_group', input: { id: nth<{ id: string }>(groups, round).id } }),
    list_dlq_events: () => ({ tool: 'list_dlq_events', input: { limit: 100 } }),
    'list_dlq_events, next page': () => ({ tool: 'list_dlq_events', input: { limit: 100, cursor } }),
    'list_dlq_events of a channel': round => ({
      tool: 'list_dlq_events',
      input: { channel: `channel-${round % 10}`, state: 'dead' },
    }),
    'list_dlq_events of a group': round => ({
      tool: 'list_dlq_events',
      input: { group: nth<{ id: string }>(groups, round).id },
    }),
    get_dlq_event_detail: round => ({
      tool: 'get_dlq_event_detail',
      input: { id: nth<{ id: string }>(letters, round).id },
    }),
    get_replay: () => ({ tool: 'get_replay', input: { id: replay } }),
    search_audit: () => ({ tool: 'search_audit', input: { limit: 100 } }),
  }
}
