import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { LazaretError } from '../core/failure/errors.ts'
import { type Clock, settlesWithin } from '../ports/clock.ts'

/** How long requests under way may take when the server closes. */
const GRACE_MS = 5_000
const POLL_EVERY_MS = 20

/** The connection of a request, as `getRequestListener()` of `@hono/node-server` passes it on. */
export interface ConnectionInfo {
  /** The request of `node:http` [unknown]. */
  readonly incoming?:
    | {
        readonly socket: { readonly remoteAddress?: string | undefined }
        /** The headers as they arrived, names and values in turn [unknown]. */
        readonly rawHeaders?: readonly string[] | undefined
      }
    | undefined
}

/** A server that listens on a port. */
export interface Listening {
  /** With the `basePath` of the server, without a final slash. */
  readonly url: string
  readonly port: number
  /** Takes no more requests, lets those under way end, and closes the server. */
  close(): Promise<void>
}

export async function listenOn(
  fetch: (request: Request, connection: ConnectionInfo) => Promise<Response>,
  { port, host }: { readonly port: number; readonly host: string },
): Promise<{ readonly server: Server; readonly url: string; readonly port: number }> {
  // They take about 40 ms to load, and a server that another framework serves does without them.
  const [{ createServer }, { getRequestListener }] = await Promise.all([
    import('node:http'),
    import('@hono/node-server'),
  ])
  const server = createServer(getRequestListener(fetch, { overrideGlobalObjects: false }))
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(refusal(error, host, port)))
    server.listen({ port, host }, resolve)
  })
  const bound = (server.address() as AddressInfo).port
  const name = host.includes(':') ? `[${host}]` : host
  return { server, url: `http://${name}:${bound}`, port: bound }
}

/** Waits for running requests within the grace time. The caller has ended the streams before. */
export async function stopListening(server: Server, clock: Clock): Promise<void> {
  const closed = new Promise<void>(resolve => server.close(() => resolve()))
  // A keep-alive connection becomes idle only after its last response.
  for (let waitedMs = 0; !(await settlesWithin(clock, POLL_EVERY_MS, closed)); waitedMs += POLL_EVERY_MS) {
    if (waitedMs < GRACE_MS) server.closeIdleConnections()
    else server.closeAllConnections()
  }
}

function refusal({ code, message }: NodeJS.ErrnoException, host: string, port: number): ListenError {
  if (code === 'EADDRINUSE') return new ListenError(`port ${port} of ${host} is in use; use another port`)
  if (code === 'EACCES') return new ListenError(`port ${port} needs elevated privileges; use 1024 or higher`)
  return new ListenError(`cannot listen on ${host}:${port} (${code ?? message}); use another host`)
}

/** The server cannot listen. Nothing was started. */
export class ListenError extends LazaretError {
  override readonly name = 'ListenError'

  constructor(problem: string) {
    super(`server: ${problem}`, { code: 'LAZARET_LISTEN_REFUSED', retryable: false })
  }
}
