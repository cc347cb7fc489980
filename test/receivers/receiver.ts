import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'

export interface Received {
  readonly method: string
  /** Path and query. */
  readonly url: string
  readonly headers: IncomingHttpHeaders
  /** Decompressed. */
  readonly body: Buffer
  /** As it came over the wire. */
  readonly wireBytes: number
}

export interface Reply {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly body?: string | Uint8Array | undefined
}

/**
 * What a receiver does with a request instead of its work: answers so, takes it and never answers, takes it and resets
 * the connection, or does its work and then resets the connection, so that only the answer is lost.
 */
export type Misbehaviour = Reply | 'hang' | 'reset' | 'reset-after'

export interface Receiver {
  readonly url: string
  /** Every request that arrived whole, whatever became of it. */
  readonly requests: readonly Received[]
  /** Connections that were opened. */
  readonly connections: number
  /** Until further notice; undefined is well again. */
  misbehave(how: Misbehaviour | undefined): void
  /** The next requests, one each, before anything else. */
  misbehaveNext(...how: readonly (Misbehaviour | undefined)[]): void
  /** Closes idle connections as a server does whose timing is over. */
  dropIdle(): void
  close(): Promise<void>
}

/** A server on a free port of the loopback address. `answer` does the work and checks the protocol. */
export async function startReceiver(answer: (request: Received) => Reply): Promise<Receiver> {
  const requests: Received[] = []
  const next: (Misbehaviour | undefined)[] = []
  let always: Misbehaviour | undefined
  let connections = 0
  const server = createServer((request, response) => {
    void read(request).then(received => {
      requests.push(received)
      const how = next.length > 0 ? next.shift() : always
      if (how === 'hang') return
      if (how === 'reset') request.socket.resetAndDestroy()
      else if (how === 'reset-after') {
        answer(received)
        request.socket.resetAndDestroy()
      } else send(response, how ?? (received.body === UNREADABLE ? BAD_ENCODING : answer(received)))
    })
  })
  server.on('connection', () => connections++)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    get connections() {
      return connections
    },
    misbehave(how) {
      always = how
    },
    misbehaveNext(...how) {
      next.push(...how)
    },
    dropIdle: () => server.closeIdleConnections(),
    async close() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

const UNREADABLE = Buffer.alloc(0)
const BAD_ENCODING: Reply = { status: 400, body: 'gzip: invalid header' }

async function read(request: IncomingMessage): Promise<Received> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const wire = Buffer.concat(chunks)
  const { method = '', url = '', headers } = request
  return {
    method,
    url,
    headers,
    body: decoded(wire, headers['content-encoding']),
    wireBytes: wire.byteLength,
  }
}

function decoded(wire: Buffer, encoding: string | undefined): Buffer {
  if (encoding === undefined) return wire
  try {
    return encoding === 'gzip' ? gunzipSync(wire) : UNREADABLE
  } catch {
    return UNREADABLE
  }
}

function send(response: ServerResponse, { status, headers = {}, body = '' }: Reply): void {
  response.writeHead(status, headers)
  response.end(body)
}

export function json(status: number, value: unknown, headers: Readonly<Record<string, string>> = {}): Reply {
  return { status, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(value) }
}
