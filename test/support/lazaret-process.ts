import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { ROOT } from './source.ts'

/** How the command is run from its source, ready for a shell. */
export const LAZARET = `"${process.execPath}" "${join(ROOT, 'src/cli/main.ts')}"`

export interface Ended {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

export interface Started {
  readonly ended: Promise<Ended>
  /** Resolves when this text was written, to either stream. */
  says(text: string): Promise<void>
  /** Resolves with the match when such a text was written, to either stream. */
  matches(pattern: RegExp): Promise<RegExpExecArray>
  signal(name: NodeJS.Signals): void
}

/** A bash script in a folder, `lazaret` being the command. */
export function startScript(script: string, cwd: string, env: NodeJS.ProcessEnv = {}): Started {
  const child = spawn('bash', ['-c', `lazaret() { ${LAZARET} "$@"; }\n${script}`], {
    cwd,
    env: { ...process.env, NO_COLOR: '1', LAZARET_STORE: '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A group of its own, so that a signal reaches what the shell started.
    detached: true,
  })
  const texts = { out: '', err: '' }
  let look = () => {}
  child.stdout.setEncoding('utf8').on('data', text => {
    texts.out += text
    look()
  })
  child.stderr.setEncoding('utf8').on('data', text => {
    texts.err += text
    look()
  })
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', code => resolve({ code, ...texts }))
  })
  const until = <T>(find: () => T | undefined, wanted: string): Promise<T> =>
    new Promise((resolve, reject) => {
      look = () => {
        const found = find()
        if (found !== undefined) resolve(found)
      }
      look()
      ended.then(({ out, err }) => reject(new Error(`ended without saying ${wanted}: ${out}${err}`)), reject)
    })
  return {
    ended,
    says: text =>
      until(() => (texts.out.includes(text) || texts.err.includes(text) ? true : undefined), text).then(
        () => {},
      ),
    matches: pattern =>
      until(() => pattern.exec(texts.out) ?? pattern.exec(texts.err) ?? undefined, String(pattern)),
    signal: name => void process.kill(-child.pid!, name),
  }
}

export function runScript(script: string, cwd: string, env?: NodeJS.ProcessEnv): Promise<Ended> {
  return startScript(script, cwd, env).ended
}
