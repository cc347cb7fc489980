import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * Below the range from which the system takes the ports of outgoing connections: it would give such a port to a
 * connection in the time between the choice here and the start of a server.
 */
const FIRST = 10_000
const COUNT = 20_000
/** Spreads processes with neighbouring ids over the range. */
const STEP = 97

let next = process.pid * STEP

/** Ports of the loopback address that nobody listens on. No two calls of a process give the same one. */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = []
  while (ports.length < count) {
    const port = FIRST + (next++ % COUNT)
    if (await isFree(port)) ports.push(port)
  }
  return ports
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
  } catch {
    return false
  }
  server.close()
  await once(server, 'close')
  return true
}
