import { request as ask } from 'node:http'
import { createServer } from 'node:https'
import { certificate } from './certificate.ts'

export interface TlsProxy {
  close(): Promise<void>
}

/** A proxy that ends TLS and names another host to the server than the browser does. */
export async function startTlsProxy(port: number, backend: () => string): Promise<TlsProxy> {
  const server = createServer(await certificate(), (request, response) => {
    const { port: own, host } = new URL(backend())
    const asked = ask(
      {
        port: own,
        host: '127.0.0.1',
        method: request.method,
        path: request.url,
        headers: { ...request.headers, host },
      },
      answer => {
        response.writeHead(answer.statusCode!, answer.headers)
        answer.pipe(response)
      },
    )
    asked.on('error', () => response.destroy())
    response.on('close', () => asked.destroy())
    request.pipe(asked)
  })
  await new Promise<void>(resolve => server.listen(port, '127.0.0.1', resolve))
  return {
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
