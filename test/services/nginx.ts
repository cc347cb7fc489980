import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Found, findPackage } from './debian.ts'
import { freePorts } from './free-ports.ts'
import { logIn, ServerProcess, spawnIn } from './server-process.ts'

const run = promisify(execFile)
const START_MS = 300_000
const POLL_MS = 20
/** Debian has it here, which is not in the path of everyone. */
const BINARY = '/usr/sbin/nginx'

export interface NginxService {
  readonly url: string
  close(): Promise<void>
}

export function findNginx(): Promise<Found> {
  return findPackage('nginx', async () =>
    run(BINARY, ['-v']).then(
      () => true,
      () => false,
    ),
  )
}

/** A private nginx with one server block: loopback only, a free port, a folder of its own that is gone afterwards. */
export async function startNginx(serverBlock: (port: number) => string): Promise<NginxService> {
  const folder = await mkdtemp(join(tmpdir(), 'lazaret-nginx-'))
  const [port] = await freePorts(1)
  const url = `http://127.0.0.1:${port}`
  await writeFile(join(folder, 'nginx.conf'), configOf(folder, serverBlock(port!)))
  const server = new ServerProcess({
    name: 'nginx',
    startMs: START_MS,
    pollMs: POLL_MS,
    spawn: () => spawnIn(folder, BINARY, ['-p', folder, '-c', join(folder, 'nginx.conf'), '-e', 'stderr']),
    answers: () =>
      fetch(url).then(
        () => true,
        () => false,
      ),
    log: logIn(folder),
    isTriedAgain: false,
    isGroup: false,
  })
  const close = async () => {
    // SIGTERM: the main process ends its workers, which would survive its SIGKILL.
    await server.end('SIGTERM')
    await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: POLL_MS })
  }
  try {
    await server.start()
  } catch (error) {
    await close()
    throw error
  }
  return { url, close }
}

/** All that nginx writes is in its folder. Its workers run as the one who starts it, who alone may read that. */
function configOf(folder: string, serverBlock: string): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    name => `${name}_temp_path ${join(folder, name)};`,
  )
  return [
    'daemon off;',
    'worker_processes 1;',
    ...(process.getuid?.() === 0 ? ['user root;'] : []),
    `pid ${join(folder, 'pid')};`,
    'events {}',
    'http {',
    'access_log off;',
    ...temporary,
    serverBlock,
    '}',
  ].join('\n')
}
