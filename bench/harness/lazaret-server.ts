import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const SOURCE = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))
/** What people run. `npm run bench` builds it. */
export const BUILT: string = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))

/** `lazaret serve` in a process of its own. */
export interface LazaretServer {
  readonly url: string
  readonly pid: number
  stop(): Promise<void>
}

/** Starts a server on a free port. `store` is an address such as `sqlite:FILE`; `flags` are further ones of `serve`. */
export async function startLazaret(
  store: string,
  program = SOURCE,
  flags: readonly string[] = [],
): Promise<LazaretServer> {
  const args = [program, 'serve', '--json', '--store', store, '--port', '0', ...flags]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'exit').then(() => {
    throw new Error('bench: lazaret serve ended; its message is above')
  })
  const [line] = await Promise.race([once(createInterface({ input: child.stdout }), 'line'), ended])
  ended.catch(() => {})
  const { url } = JSON.parse(line) as { url: string }
  return {
    url,
    pid: child.pid!,
    async stop() {
      const gone = once(child, 'exit')
      child.kill('SIGTERM')
      await gone
    },
  }
}
