import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/ports/clock.ts'
import { TestTiming, uniqueName } from '../../src/testing/conformance/harness.ts'
import { COMPILE_CACHE_ENV } from '../services/compile-cache.ts'
import { findKafka } from '../services/kafka.ts'
import { cliWorld } from '../support/cli.ts'
import { withTempFolder } from '../support/folder.ts'
import { ROOT } from '../support/source.ts'

const ORDERS = 60

const found = await findKafka()
const server = found.found ? await found.start() : undefined
const why = found.found ? '' : ` (skipped: ${found.why})`
const timing = new TestTiming({})

type Child = ChildProcessByStdio<null, Readable, null>
const running = new Set<Child>()
afterEach(() => {
  for (const child of running) child.kill('SIGKILL')
  running.clear()
})
afterAll(() => server?.close())

/** One of its programs as a process of its own, as the README starts it, and the lines that it has written. */
function run(script: string, env: NodeJS.ProcessEnv, ...args: readonly string[]) {
  const fromSource = join(ROOT, 'test/support/from-source.ts')
  const words = ['--no-warnings', '--import', fromSource, join(ROOT, 'examples/kafka', script), ...args]
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

describe.runIf(found.found)(`examples/kafka${why}`, () => {
  it('E21, B18: every order is billed or a letter, although billing is killed, and a replay bills the letters', () =>
    withTempFolder(async cwd => {
      const store = join(cwd, 'billing.db')
      const channel = uniqueName('orders')
      const env = { KAFKA_BROKERS: server!.brokers.join(','), STORE: store, CHANNEL: channel }
      await end(run('order.ts', env, String(ORDERS)).child)
      const first = run('bill.ts', env)
      await timing.eventually(() => billed(first.lines).length >= 5, 'some are billed')
      await end(first.child, 'SIGKILL')
      const second = run('bill.ts', env)
      const all = () => new Set([...first.lines, ...second.lines])
      await timing.eventually(() => billed([...all()]).length === 54, 'the rest is billed')
      await timing.eventually(
        () => [...all()].filter(line => line.startsWith('refused ')).length === 6,
        'letters',
      )
      await end(second.child, 'SIGTERM')
      await copyFile(join(ROOT, 'examples/kafka/lazaret.yaml'), join(cwd, 'lazaret.yaml'))
      const third = run('bill.ts', { ...env, HIGHEST_TOTAL: '1000' })
      await timing.eventually(() => third.lines.includes('billing'), 'billing with another limit')
      const { lazaretWith } = cliWorld(cwd)
      const lazaret = (...argv: string[]) => lazaretWith({ clock: systemClock, env }, ...argv, '--json')
      const plan = await lazaret('replay', 'plan', '--reason', 'limit raised')
      const { code, json } = await lazaret('replay', 'start', plan.json[0].id)
      expect({ code, json }).toMatchObject({ code: 0, json: [{ outcomes: { recovered: 6 } }] })
      expect(new Set(billed(third.lines)).size).toBe(6)
      const status = await lazaret('kafka', 'status', channel)
      expect(status.json).toMatchObject([{ handler: 'bill', consumers: 1, deadLetters: 0 }])
      await end(third.child, 'SIGTERM')
    }))
})
