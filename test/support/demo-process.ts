import { spawn } from 'node:child_process'
import { join } from 'node:path'
import type { Ended } from './lazaret-process.ts'
import { ROOT } from './source.ts'

export interface DemoProcess {
  /** What `--json` told. */
  readonly told: Promise<{ readonly url: string; readonly seed: number; readonly store: string }>
  readonly ended: Promise<Ended>
  interrupt(): void
}

/** `lazaret demo --json`, its files below a folder of the test. */
export function startDemo(
  folder: string,
  { args = [], pace = 10 }: { readonly args?: readonly string[]; readonly pace?: number } = {},
): DemoProcess {
  const child = spawn(process.execPath, [join(ROOT, 'src/cli/main.ts'), 'demo', '--json', ...args], {
    cwd: folder,
    env: { ...process.env, TMPDIR: folder, NO_COLOR: '1', LAZARET_DEMO_SPEED: String(pace) },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let out = ''
  let err = ''
  child.stderr.setEncoding('utf8').on('data', text => {
    err += text
  })
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', code => resolve({ code, out, err }))
  })
  const told = new Promise<{ url: string; seed: number; store: string }>((resolve, reject) => {
    child.stdout.setEncoding('utf8').on('data', text => {
      out += text
      if (out.includes('\n')) resolve(JSON.parse(out))
    })
    ended.then(({ err: said }) => reject(new Error(`the demo ended: ${said}`)), reject)
  })
  // A test that only waits for its end does not ask what it told.
  told.catch(() => {})
  return { told, ended, interrupt: () => void child.kill('SIGINT') }
}
