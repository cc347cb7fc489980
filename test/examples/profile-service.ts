import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import type { HealthReport } from '../../src/runtime/consumer/health.ts'
import { COMPILE_CACHE_ENV } from '../services/compile-cache.ts'
import { ROOT } from '../support/source.ts'

const FOLDER = join(ROOT, 'examples/profile-service')

/** What the example is told by its environment. */
export interface ProfileSettings {
  readonly amqp: string
  readonly database: string
  readonly channel: string
  readonly more?: NodeJS.ProcessEnv | undefined
}

interface Line {
  readonly what: string
  readonly [detail: string]: unknown
}

type Child = ChildProcessByStdio<null, Readable, Readable>

/** The example as a process of its own, as its README starts it. */
export class ProfileProcess {
  readonly lines: Line[] = []
  readonly #child: Child
  #port = 0

  private constructor(child: Child) {
    this.#child = child
  }

  static async start(settings: ProfileSettings): Promise<ProfileProcess> {
    const child = run('main.ts', [], envOf(settings))
    const service = new ProfileProcess(child)
    child.stderr.pipe(process.stderr)
    const started = new Promise<number>((resolve, reject) => {
      createInterface(child.stdout).on('line', text => {
        const line = JSON.parse(text) as Line
        service.lines.push(line)
        if (line.what === 'started') resolve(Number(line['port']))
      })
      child.once('exit', code => reject(new Error(`the example ended with ${code} before it had started`)))
    })
    service.#port = await started
    return service
  }

  async health(): Promise<{ readonly code: number; readonly report: HealthReport }> {
    const response = await fetch(`http://127.0.0.1:${this.#port}/healthz/consumer`)
    return { code: response.status, report: (await response.json()) as HealthReport }
  }

  async metrics(): Promise<string> {
    return await (await fetch(`http://127.0.0.1:${this.#port}/metrics`)).text()
  }

  said(what: string): readonly Line[] {
    return this.lines.filter(line => line.what === what)
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name)
  }

  /** The exit code. */
  async ended(): Promise<number | null> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) await once(this.#child, 'exit')
    return this.#child.exitCode
  }

  async stop(): Promise<number | null> {
    this.signal('SIGTERM')
    return await this.ended()
  }
}

/** Runs one of the example's programs to its end. */
export async function runExample(
  script: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<{ readonly code: number | null; readonly out: string; readonly err: string }> {
  const child = run(script, args, env)
  const [out, err, [code]] = await Promise.all([
    child.stdout.setEncoding('utf8').reduce((all: string, piece: string) => all + piece, ''),
    child.stderr.setEncoding('utf8').reduce((all: string, piece: string) => all + piece, ''),
    once(child, 'exit') as Promise<[number | null]>,
  ])
  return { code, out, err }
}

export function envOf({ amqp, database, channel, more }: ProfileSettings): NodeJS.ProcessEnv {
  return { RABBITMQ_URL: amqp, DATABASE_URL: database, CHANNEL: channel, HTTP_PORT: '0', ...more }
}

function run(script: string, args: readonly string[], env: NodeJS.ProcessEnv): Child {
  const fromSource = join(ROOT, 'test/support/from-source.ts')
  return spawn(process.execPath, ['--no-warnings', '--import', fromSource, join(FOLDER, script), ...args], {
    env: { ...COMPILE_CACHE_ENV, PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}
