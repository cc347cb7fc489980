import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterEach } from 'vitest'
import { delay, systemClock } from '../../src/ports/clock.ts'

/** What the consumers of one test have told. */
export class ConsumerOutput {
  readonly handled = new Set<string>()
  letters = 0
}

const children = new Set<ChildProcess>()
afterEach(() => {
  for (const child of children) child.kill('SIGKILL')
})

/** How often a running consumer is compared with what is stored. */
const LOOK_MS = 100

interface Ends {
  /** The signal for the consumer after a line of its output; undefined to let it run. */
  afterLine?(): NodeJS.Signals | undefined
  /** The consumer is told to stop when this is so. It asks the server: a process can die before it tells what it has stored. */
  isDone?(): Promise<boolean>
}

/**
 * Runs a script of this folder that consumes as `consumeDeadlyEvents` does, until it dies, or is done, or is told to. True
 * when it died.
 */
export function consumerThatDies(script: string, address: string | undefined) {
  const path = fileURLToPath(new URL(script, import.meta.url))
  return async (args: readonly string[], told: ConsumerOutput, { afterLine, isDone }: Ends) => {
    const child = spawn(process.execPath, [path, address!, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
    children.add(child)
    const ended = once(child, 'close')
    createInterface(child.stdout).on('line', line => {
      if (line === 'gave up') told.letters++
      else if (line !== 'started') told.handled.add(line)
      const signal = afterLine?.()
      if (signal !== undefined) child.kill(signal)
    })
    while (isDone !== undefined && child.exitCode === null && child.signalCode === null) {
      if (await isDone()) child.kill('SIGTERM')
      await Promise.race([ended, delay(systemClock, LOOK_MS)])
    }
    await ended
    return child.signalCode === 'SIGKILL'
  }
}
