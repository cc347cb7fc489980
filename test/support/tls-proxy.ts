import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { request as ask } from 'node:http'
import { createServer } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

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

async function certificate(): Promise<{ readonly key: Buffer; readonly cert: Buffer }> {
  const folder = await mkdtemp(join(tmpdir(), 'lazaret-tls-'))
  try {
    const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
    const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1']
    await run('openssl', ['req', '-x509', ...kind, '-subj', '/CN=127.0.0.1', '-keyout', key, '-out', cert])
    return { key: await readFile(key), cert: await readFile(cert) }
  } finally {
    await rm(folder, { recursive: true })
  }
}
