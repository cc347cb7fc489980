import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { CampaignResult } from './campaign.ts'
import { type Layout, NAMESPACES, on, serverOf } from './hosts.ts'
import { createNamespaces, folderOf, removeLeftovers, removeNamespaces } from './namespaces.ts'
import type { CampaignOptions } from './plan.ts'
import { SERVERS } from './servers.ts'

const CAMPAIGN = fileURLToPath(new URL('on-server.ts', import.meta.url))
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/**
 * Makes a network of hosts, and runs a campaign in a process on the host of the server. However it ends, its processes, hosts
 * and files are removed.
 */
export async function runOnNetwork(options: CampaignOptions): Promise<CampaignResult> {
  const layout: Layout = { prefix: `${NAMESPACES}${process.pid}`, consumers: options.consumers }
  // The hosts have no way to the package registries, so the server is installed before.
  const found = await SERVERS[options.broker](serverOf(layout).address)
  if (!found.found) throw new Error(`${options.broker}: ${found.why}`)
  await removeLeftovers()
  let removing: Promise<void> | undefined
  const remove = () => (removing ??= removeNamespaces(layout))
  const stop = (signal: NodeJS.Signals) => void remove().finally(() => process.kill(process.pid, signal))
  for (const signal of SIGNALS) process.once(signal, stop)
  try {
    // Postgres does not run as root, and reads it too.
    await mkdir(folderOf(layout), { mode: 0o755 })
    await createNamespaces(layout)
    return await runOnServer(options, layout)
  } finally {
    await remove()
    for (const signal of SIGNALS) process.off(signal, stop)
  }
}

async function runOnServer(options: CampaignOptions, layout: Layout): Promise<CampaignResult> {
  const words = [process.execPath, '--no-warnings', CAMPAIGN, JSON.stringify({ options, layout })]
  const [ip, ...rest] = [...on(serverOf(layout).namespace), ...words]
  // A Ctrl-C is for this process alone, which ends the others.
  const child = spawn(ip!, rest, {
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
    env: { ...process.env, TMPDIR: folderOf(layout) },
  })
  const [output] = await Promise.all([text(child.stdout), once(child, 'exit')])
  if (child.exitCode !== 0) throw new Error(`the campaign on ${options.broker} ended with ${child.exitCode}`)
  return JSON.parse(output)
}
