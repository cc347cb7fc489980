import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { tokenFor } from '../support/console-server.ts'
import { ROOT } from '../support/source.ts'
import type { AttackRole } from './roles.ts'
import { STORES } from './stores.ts'

/** No request of the attack is refused for its rate. */
const RATE_LIMIT = { perSecond: 100_000, burst: 100_000 } as const
const CALLERS = {
  viewer: tokenFor('vic', 'viewer'),
  operator: tokenFor('ola', 'operator'),
  admin: tokenFor('ada', 'admin'),
} as const

export function tokenOf(role: AttackRole): string | undefined {
  return role === 'none' ? undefined : CALLERS[role].token
}

export interface AttackedServer {
  readonly url: string
  /** The lines that it has written to stderr since it listens: errors that it did not expect. */
  readonly log: readonly string[]
  /** Whether it is still the process that was started. */
  readonly isAlive: boolean
  /** Ends it as an operator does. Resolves with its exit code. */
  close(): Promise<number | null>
}

/** The built `lazaret serve` with a token for each role. */
export async function startServer(folder: string, port: number): Promise<AttackedServer> {
  const config = join(folder, 'lazaret.yaml')
  const stores = Object.fromEntries(Object.entries(STORES).map(([name, { url }]) => [name, url(folder)]))
  const tokens = Object.values(CALLERS).map(({ option }) => option)
  const settings = { retention: 'never', cleanup: 'off', server: { stores, tokens, rateLimit: RATE_LIMIT } }
  await writeFile(config, stringify(settings))
  const words = [join(ROOT, 'dist/cli/main.js'), 'serve', '--config', config, '--port', String(port)]
  const child = spawn(process.execPath, words, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] })
  const log: string[] = []
  const ended = once(child, 'exit')
  await new Promise<void>((resolve, reject) => {
    let text = ''
    child.stderr.setEncoding('utf8').on('data', (part: string) => {
      text += part
      const lines = text.split('\n')
      text = lines.pop()!
      log.push(...lines.filter(line => !/^(Lazaret listens on|Press Ctrl-C)/.test(line)))
      if (lines.some(line => line.startsWith('Lazaret listens on'))) resolve()
    })
    void ended.then(() => reject(new Error(`the server did not start: ${log.join('\n')}${text}`)))
  })
  return {
    url: `http://127.0.0.1:${port}`,
    log,
    get isAlive() {
      return child.exitCode === null && child.signalCode === null
    },
    async close() {
      child.kill('SIGTERM')
      await ended
      return child.exitCode
    },
  }
}
