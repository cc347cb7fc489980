import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterEach } from 'vitest'

/** What the consumers of one test have told. */
export class ConsumerOutput {
  readonly handled = new Set<string>()
  letters = 0
}

const children = new Set<ChildProcess>()
afterEach(() => {
  for (const child of children) child.kill('SIGKILL')
})

/**
 * Runs a script of this folder that consumes as `consumeDeadlyEvents` does, until it dies, or is done, or is told to. True
 * when it died.
 */
export function consumerThatDies(script: string, address: string | undefined) {
  const path = fileURLToPath(new URL(script, import.meta.url))
  return async (args: readonly string[], told: ConsumerOutput, kill: () => NodeJS.Signals | undefined) => {
    const child = spawn(process.execPath, [path, address!, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
    children.add(child)
    for await (const line of createInterface(child.stdout)) {
      if (line === 'gave up') told.letters++
      else if (line !== 'started') told.handled.add(line)
      const signal = kill()
      if (signal !== undefined) child.kill(signal)
    }
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    return child.signalCode === 'SIGKILL'
  }
}
