import { execFile } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { clientsOf, type Host, type Layout, NAMESPACES, routerOf, runOn, serverOf } from './hosts.ts'

const run = promisify(execFile)

/** A port of the server's host that is reached as it is. All others lead to what listens on its loopback address. */
export const DIRECT_PORT = 9_092

/**
 * Makes the namespaces, and cables between them. Nothing of it is visible in the namespace of the machine, and no cable leads
 * out. Servers for tests listen on the loopback address and trust it, so the host of the server translates addresses.
 */
export async function createNamespaces(layout: Layout): Promise<void> {
  const router = routerOf(layout)
  const server = serverOf(layout)
  await addNamespace(router)
  await runOn(router, 'sysctl', '-qw', 'net.ipv4.ip_forward=1')
  for (const host of [server, ...clientsOf(layout)]) await connectHost(host, router)
  const settings = ['net.ipv4.conf.all.route_localnet=1', 'net.netfilter.nf_conntrack_tcp_be_liberal=1']
  await runOn(server.namespace, 'sysctl', '-qw', ...settings)
  const nat = (...words: readonly string[]) =>
    runOn(server.namespace, 'iptables', '-w', '-t', 'nat', ...words)
  const toServer = ['-p', 'tcp', '-d', server.address]
  await nat('-N', 'DETOUR')
  await nat('-A', 'PREROUTING', ...toServer, '-j', 'DETOUR')
  const others = ['!', '--dport', String(DIRECT_PORT)]
  await nat('-A', 'PREROUTING', ...toServer, ...others, '-j', 'DNAT', '--to-destination', '127.0.0.1')
  await nat('-A', 'INPUT', '-p', 'tcp', '-d', '127.0.0.1', '-j', 'SNAT', '--to-source', '127.0.0.1')
}

/** The folder for the files of servers and processes on the hosts. */
export function folderOf({ prefix }: Pick<Layout, 'prefix'>): string {
  return join(tmpdir(), prefix)
}

/** Ends all processes on the hosts, and removes the hosts with their cables, rules and files. */
export async function removeNamespaces({ prefix }: Pick<Layout, 'prefix'>): Promise<void> {
  for (const name of await listNamespaces(`${prefix}-`)) {
    await endProcesses(name)
    await run('ip', ['netns', 'del', name])
  }
  await rm(folderOf({ prefix }), { recursive: true, force: true, maxRetries: 10 })
}

/** Removes what runs left behind whose process is gone. */
export async function removeLeftovers(): Promise<void> {
  for (const name of await listNamespaces(NAMESPACES)) {
    const pid = /^lazaret-net-(\d+)-/.exec(name)?.[1]
    if (pid !== undefined && !isAlive(Number(pid))) await removeNamespaces({ prefix: `${NAMESPACES}${pid}` })
  }
}

async function addNamespace(name: string): Promise<void> {
  await run('ip', ['netns', 'add', name])
  await run('ip', ['-n', name, 'link', 'set', 'dev', 'lo', 'up'])
  // The system closes the connections of a killed process, and would say so again and again until a cut is over.
  await runOn(name, 'sysctl', '-qw', 'net.ipv4.tcp_orphan_retries=1')
}

async function connectHost(host: Host, router: string): Promise<void> {
  const { name, namespace, address, gateway } = host
  await addNamespace(namespace)
  const peer = ['peer', 'name', name, 'netns', router]
  await run('ip', ['link', 'add', 'name', 'eth0', 'netns', namespace, 'type', 'veth', ...peer])
  await run('ip', ['-n', namespace, 'addr', 'add', `${address}/24`, 'dev', 'eth0'])
  await run('ip', ['-n', router, 'addr', 'add', `${gateway}/24`, 'dev', name])
  await run('ip', ['-n', namespace, 'link', 'set', 'dev', 'eth0', 'up'])
  await run('ip', ['-n', router, 'link', 'set', 'dev', name, 'up'])
  await run('ip', ['-n', namespace, 'route', 'add', 'default', 'via', gateway])
}

async function listNamespaces(prefix: string): Promise<readonly string[]> {
  const { stdout } = await run('ip', ['netns', 'list'])
  const names = stdout.split('\n').map(line => line.split(' ')[0]!)
  return names.filter(name => name.startsWith(prefix))
}

async function endProcesses(namespace: string): Promise<void> {
  const { stdout } = await run('ip', ['netns', 'pids', namespace])
  for (const pid of stdout.split('\n').filter(line => line !== ''))
    try {
      process.kill(Number(pid), 'SIGKILL')
    } catch {
      // It has ended meanwhile.
    }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
