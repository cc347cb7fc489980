import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { afterEach, expect } from 'vitest'
import { systemClock } from '../../src/ports/clock.ts'
import { TestTiming, uniqueName } from '../../src/testing/conformance/harness.ts'
import { COMPILE_CACHE_ENV } from '../services/compile-cache.ts'
import { cliWorld } from '../support/cli.ts'
import { withTempFolder } from '../support/folder.ts'
import { ROOT } from '../support/source.ts'

const ORDERS = 60
const TOO_EXPENSIVE = 6
const timing = new TestTiming({})

type Child = ChildProcessByStdio<null, Readable, null>
const running = new Set<Child>()
afterEach(() => {
  for (const child of running) child.kill('SIGKILL')
  running.clear()
})

/** One of its programs as a process of its own, as the README starts it, and the lines that it has written. */
function run(script: string, env: NodeJS.ProcessEnv, ...args: readonly string[]) {
  const fromSource = join(ROOT, 'test/support/from-source.ts')
  const words = ['--no-warnings', '--import', fromSource, join(ROOT, 'examples', script), ...args]
  const child = spawn(process.execPath, words, {
    env: { ...COMPILE_CACHE_ENV, PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  running.add(child)
  const lines: string[] = []
  let rest = ''
  child.stdout.on('data', (data: Buffer) => {
    const parts = (rest + data.toString()).split('\n')
    rest = parts.pop()!
    lines.push(...parts)
  })
  return { child, lines }
}

async function end(child: Child, signal?: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  if (signal !== undefined) child.kill(signal)
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
}

const billed = (lines: readonly string[]) => lines.filter(line => line.startsWith('billed '))

/**
 * Every order is billed or a letter, although billing is killed, and a replay bills the letters. `example` names the
 * folder and the commands of its broker; `status` is what they say at the end.
 */
export async function billOrders(
  example: 'kafka' | 'nats',
  server: Readonly<Record<string, string>>,
  status: object,
): Promise<void> {
  await withTempFolder(async cwd => {
    const channel = uniqueName('orders')
    const env = { ...server, STORE: join(cwd, 'billing.db'), CHANNEL: channel }
    const first = run(`${example}/bill.ts`, env)
    // A handler of NATS gets what is published after it has begun.
    await timing.eventually(() => first.lines.includes('billing'), 'billing')
    await end(run(`${example}/order.ts`, env, String(ORDERS)).child)
    await timing.eventually(() => billed(first.lines).length >= 5, 'some are billed')
    await end(first.child, 'SIGKILL')
    const second = run(`${example}/bill.ts`, env)
    const all = () => [...new Set([...first.lines, ...second.lines])]
    await timing.eventually(() => billed(all()).length === ORDERS - TOO_EXPENSIVE, 'the rest is billed')
    const refused = () => all().filter(line => line.startsWith('refused '))
    await timing.eventually(() => refused().length === TOO_EXPENSIVE, 'letters')
    await end(second.child, 'SIGTERM')
    await copyFile(join(ROOT, 'examples', example, 'lazaret.yaml'), join(cwd, 'lazaret.yaml'))
    const third = run(`${example}/bill.ts`, { ...env, HIGHEST_TOTAL: '1000' })
    await timing.eventually(() => third.lines.includes('billing'), 'billing with another limit')
    const { lazaretWith } = cliWorld(cwd)
    const lazaret = (...argv: string[]) => lazaretWith({ clock: systemClock, env }, ...argv, '--json')
    const plan = await lazaret('replay', 'plan', '--reason', 'limit raised')
    const { code, json } = await lazaret('replay', 'start', plan.json[0].id)
    expect({ code, json }).toMatchObject({ code: 0, json: [{ outcomes: { recovered: TOO_EXPENSIVE } }] })
    // What the killed process had billed and not yet recorded is billed once more.
    const known = billed(first.lines)
    expect(new Set(billed(third.lines).filter(line => !known.includes(line))).size).toBe(TOO_EXPENSIVE)
    const shown = await lazaret(example, 'status', channel)
    expect(shown.json).toMatchObject([{ handler: 'bill', deadLetters: 0, ...status }])
    await end(third.child, 'SIGTERM')
  })
}
