import type { RestartingProcess } from '../campaign/restarting-process.ts'
import { pause } from '../campaign/wait.ts'
import { ChaosProxy } from '../proxy.ts'
import type { DrawnFault } from './drawn.ts'
import type { Host } from './hosts.ts'
import { DETOUR_MS } from './plan.ts'
import type { Rules } from './rules.ts'
import type { ServerUnderTest } from './servers.ts'

export interface Consumer {
  readonly host: Host
  readonly process: RestartingProcess
}

/** The hosts, processes and rules that faults change. */
export interface FaultTargets {
  readonly rules: Rules
  readonly server: ServerUnderTest
  /** Where clients reach the server. */
  readonly serverUrl: string
  readonly consumers: readonly Consumer[]
}

/**
 * Injects a fault and waits until its time is over. Resolves when the network is as before; then processes and servers that were killed
 * behind a cut run again too.
 */
export async function injectFault(drawn: DrawnFault, targets: FaultTargets): Promise<void> {
  const { fault, hosts, forMs, loseEvery, latencyMs } = drawn
  const { rules } = targets
  switch (fault) {
    case 'partition':
      await rules.drop(hosts, 'both')
      break
    case 'sending':
      await rules.drop(hosts, 'sent')
      break
    case 'receiving':
      await rules.drop(hosts, 'received')
      break
    case 'loss':
      await rules.lose(hosts, loseEvery)
      break
    case 'reset':
      await rules.reset(hosts)
      break
    case 'latency':
      return slowDown(hosts, forMs, latencyMs, targets)
    case 'dead-host':
      return killBehindCut(hosts, forMs, targets)
    case 'dead-server':
      return restartBehindCut(hosts, forMs, targets)
  }
  await pause(forMs)
  await rules.heal()
}

/** Connections are reset, and new ones take a slow way, as after a change of the route. The same happens at the end. */
async function slowDown(
  hosts: readonly Host[],
  forMs: number,
  latencyMs: number,
  { rules, server, serverUrl }: FaultTargets,
): Promise<void> {
  const proxy = await ChaosProxy.to(addressOf(server.url).href)
  try {
    proxy.latencyMs = latencyMs
    const slow = addressOf(proxy.through(addressOf(server.url).href)).port
    await rules.redirect(hosts, Number(addressOf(serverUrl).port), Number(slow))
    await rules.reset(hosts)
    await pause(DETOUR_MS)
    await rules.letThrough()
    await pause(forMs)
    await rules.heal()
  } finally {
    await proxy.close()
  }
}

/** Nobody tells the server that its peers are gone. Their successors begin when the network is as before. */
async function killBehindCut(
  hosts: readonly Host[],
  forMs: number,
  { rules, consumers }: FaultTargets,
): Promise<void> {
  const hit = consumers.filter(({ host }) => hosts.includes(host))
  await rules.drop(hosts, 'both')
  for (const { process } of hit) await process.end('SIGKILL')
  await pause(forMs)
  await rules.heal()
  await Promise.all(hit.map(({ process }) => process.begin()))
}

/** Nobody tells the clients that their connections are gone. */
async function restartBehindCut(
  hosts: readonly Host[],
  forMs: number,
  { rules, server }: FaultTargets,
): Promise<void> {
  await rules.drop(hosts, 'both')
  await server.kill()
  await Promise.all([server.start(), pause(forMs)])
  await rules.heal()
}

/** Of a URL, or of `host:port`. */
function addressOf(url: string): URL {
  return new URL(url.includes('://') ? url : `tcp://${url}`)
}
