import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** The hosts of one run and their names: a server, a producer and consumers, each with a cable of its own to one router. */
export interface Layout {
  readonly prefix: string
  readonly consumers: number
}

export interface Host {
  readonly name: string
  readonly namespace: string
  readonly address: string
  /** The address of the router on the cable to the host. */
  readonly gateway: string
}

/** Namespaces of all runs begin so; then comes the process that made them. */
export const NAMESPACES = 'lazaret-net-'

export function routerOf({ prefix }: Layout): string {
  return `${prefix}-router`
}

export function serverOf(layout: Layout): Host {
  return hostOf(layout, 'server', 0)
}

/** All hosts but the server: first the producer, then the consumers. */
export function clientsOf(layout: Layout): readonly Host[] {
  const consumers = Array.from({ length: layout.consumers }, (_, index) => `consumer-${index + 1}`)
  return ['producer', ...consumers].map((name, index) => hostOf(layout, name, index + 1))
}

/** What stands before a program that runs on the host. */
export function on(namespace: string): readonly string[] {
  return ['ip', 'netns', 'exec', namespace]
}

/** Runs a program on the host to its end. */
export async function runOn(namespace: string, ...command: readonly string[]): Promise<void> {
  const [ip, ...words] = [...on(namespace), ...command]
  await run(ip!, words)
}

function hostOf({ prefix }: Layout, name: string, number: number): Host {
  const cable = `10.77.${number}`
  return { name, namespace: `${prefix}-${name}`, address: `${cable}.2`, gateway: `${cable}.1` }
}
